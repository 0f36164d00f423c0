// Classical models and feature transforms of ai.onnx.ml. A model gives each row of features its
// scores in double, then transforms them (post_transform.h); a classifier also gives a label.
//   row_model.h         rows, labels and scores: linear, SVM and tree models (this header)
//   trees.h             tree ensembles, checked once; tree_attributes.h reads their older form,
//                       forest.h walks through them
//   svm.h               kernels of support vector machines
//   key_value_table.h   lookups: LabelEncoder, CategoryMapper, OneHotEncoder
//   map_entries.h       maps: CastMap, DictVectorizer
// The other operators (Binarizer, Imputer, Normalizer, Scaler, FeatureVectorizer, ...) are
// expansions.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"
#include "kernels/ml/post_transform.h"

namespace ondine::kernels {

// The labels of a classifier: integers or strings.
class ClassLabels {
 public:
  // From two attributes, of which exactly one must be there.
  ClassLabels(const graph::NodeView& node, std::string_view ints, std::string_view strings);

  DType dtype() const noexcept { return strings_.empty() ? DType::int64 : DType::string; }
  std::size_t count() const noexcept { return std::max(ints_.size(), strings_.size()); }
  // All labels, [count].
  Tensor tensor() const;
  // Writes label `index` to element `at` of a tensor of dtype().
  void write(void* to, std::int64_t at, std::size_t index) const;

 private:
  std::vector<std::int64_t> ints_;
  std::vector<std::string> strings_;
};

// Rows of numbers, and the scores of each row. `scratch` has as many numbers as `scores`.
struct RowBlock {
  std::span<const double> x;
  std::size_t features;
  std::span<double> scores, scratch;
};

struct RowModel {
  std::size_t columns = 0;  // scores of a row
  std::size_t scratch = 0;  // doubles of scratch memory of `score`
  PostTransform transform = PostTransform::none;
  // Writes the scores of several rows at once, with which `score` goes on. At least one is given.
  std::function<void(const RowBlock& rows)> score_rows = {};
  // Writes the scores before the post-transform and returns the class (0 in regressors).
  std::function<std::size_t(std::span<const double> x, std::span<double> scores,
                            std::span<double> scratch)>
      score;
};

// Sets output `i` to [N, columns]. Input 0 must have shape [N, F] or [F], which is one row.
void infer_scores(graph::InferContext& context, std::size_t i, DType dtype, graph::Dim columns);
// infer_scores for a classifier: output 0 holds labels [N], output 1 float scores [N, columns].
// Error(invalid_model) for an unknown post_transform.
void infer_classifier(graph::InferContext& context, const ClassLabels& labels, std::size_t columns);
// The number of features F of input 0.
std::int64_t feature_count(const graph::BindContext& context);

graph::Kernel bind_regressor(graph::BindContext& context, RowModel model);
graph::Kernel bind_classifier(graph::BindContext& context, ClassLabels labels, RowModel model);

// Error(invalid_model) unless attribute `name` has `needed` elements.
void require_count(std::string_view name, std::size_t found, std::uint64_t needed);
// The elements of a matrix, whose number addresses may not reach.
std::uint64_t elements_of(std::uint64_t rows, std::uint64_t columns);
// The length of a row of doubles, not negative; Error(limit) for one that addresses do not reach.
std::size_t row_length(std::int64_t count);

}  // namespace ondine::kernels
