// tree_ensemble_classifier.cpp — sums of the votes of all trees for each class plus base values;
// the label is that of the greatest. Where all votes are for one of two classes they are the score
// of the second; that of the first is 1 minus it if no vote is negative, else its negative. Version
// 3 has attributes of double.
#include <algorithm>

#include "kernels/common/op.h"
#include "kernels/ml/forest.h"
#include "kernels/ml/row_model.h"
#include "kernels/ml/tree_attributes.h"

namespace ondine::kernels::ops {
namespace {

ClassLabels labels_of(const NodeView& node) {
  return {node, "classlabels_int64s", "classlabels_strings"};
}

void infer(InferContext& context) {
  const ClassLabels labels = labels_of(context);
  infer_classifier(context, labels, labels.count());
}

Kernel bind(BindContext& context) {
  ClassLabels labels = labels_of(context);
  const std::size_t classes = labels.count();
  Trees trees = trees_of_arrays(context, "class", "class_ids", classes);
  const std::vector<std::int64_t> ids = context.attr_ints("class_ids");
  const bool single =
      classes == 2 && !ids.empty() &&
      std::all_of(ids.begin(), ids.end(), [&](std::int64_t id) { return id == ids[0]; });
  const std::size_t voted = single ? static_cast<std::size_t>(ids[0]) : 0;
  if (single && trees.base.size() == 1) trees.base.resize(2, trees.base[0]);
  trees.check(static_cast<std::size_t>(feature_count(context)));
  bool positive = true;
  for (const auto& votes : trees.leaves) {
    for (const Trees::Vote& vote : votes) positive = positive && vote.weight >= 0;
  }
  const SingleScore meaning = positive ? SingleScore::probability : SingleScore::margin;
  const PostTransform transform = read_post_transform(context);
  RowModel model{.columns = classes, .transform = transform, .score = {}};
  model.score_rows = [forest = Forest(trees)](const RowBlock& rows) {
    forest.evaluate(rows.x, rows.features, rows.scores, rows.scratch);
  };
  model.score = [=](std::span<const double>, std::span<double> scores, std::span<double>) {
    if (single) {
      scores[1] = scores[voted];
      make_pair(transform, meaning, scores);
    }
    return top_class(scores);
  };
  return bind_classifier(context, std::move(labels), std::move(model));
}

}  // namespace

extern const OpDef tree_ensemble_classifier{
    .name = "TreeEnsembleClassifier", .domain = ml_domain, .infer = infer, .bind = bind};

}  // namespace ondine::kernels::ops
