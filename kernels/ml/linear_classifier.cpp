// linear_classifier.cpp — scores = x W^T + b, transformed; the label is that of the greatest. A
// single row of coefficients for two labels gives the score of the second one; that of the first is
// its negative.
#include "kernels/common/op.h"
#include "kernels/ml/row_model.h"

namespace ondine::kernels::ops {
namespace {

ClassLabels labels_of(const NodeView& node) {
  return {node, "classlabels_ints", "classlabels_strings"};
}

void infer(InferContext& context) {
  const ClassLabels labels = labels_of(context);
  infer_classifier(context, labels, labels.count());
}

Kernel bind(BindContext& context) {
  ClassLabels labels = labels_of(context);
  const PostTransform transform = read_post_transform(context);
  const auto features = static_cast<std::size_t>(feature_count(context));
  const std::size_t classes = labels.count();
  const std::vector<float> w = context.attr_floats("coefficients");
  const bool single = classes == 2 && w.size() == features;
  const std::size_t rows = single ? 1 : classes;
  require_count("coefficients", w.size(), elements_of(rows, features));
  const std::vector<float> b = context.attr_floats("intercepts", std::vector<float>(rows));
  require_count("intercepts", b.size(), rows);
  return bind_classifier(
      context, std::move(labels),
      {.columns = classes,
       .transform = transform,
       .score = [=](std::span<const double> x, std::span<double> scores, std::span<double>) {
         for (std::size_t k = 0; k < rows; ++k) {
           double sum = b[k];
           for (std::size_t f = 0; f < features; ++f) sum += x[f] * w[k * features + f];
           scores[single ? 1 : k] = sum;
         }
         if (single) make_pair(transform, SingleScore::margin, scores);
         return top_class(scores);
       }});
}

}  // namespace

extern const OpDef linear_classifier{
    .name = "LinearClassifier", .domain = ml_domain, .infer = infer, .bind = bind};

}  // namespace ondine::kernels::ops
