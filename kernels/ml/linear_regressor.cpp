// linear_regressor.cpp — y = x W^T + b, transformed. The derivative is that of the expansion, which
// SOFTMAX_ZERO and PROBIT do not have.
#include <algorithm>

#include "kernels/common/op.h"
#include "kernels/ml/row_model.h"

namespace ondine::kernels::ops {
namespace {

std::size_t targets_of(const NodeView& node) {
  const std::int64_t targets = node.attr_int("targets", 1);
  if (targets < 1) fail(ErrorCode::invalid_model, "attribute 'targets' is ", targets);
  return row_length(targets);
}

void infer(InferContext& context) {
  read_post_transform(context);
  infer_scores(context, 0, DType::float32, static_cast<std::int64_t>(targets_of(context)));
}

struct Weights {
  std::vector<float> w, b;

  Weights(const NodeView& node, std::size_t targets, std::size_t features)
      : w(node.attr_floats("coefficients")) {
    if (w.size() / targets != features || w.size() % targets != 0) {
      fail(ErrorCode::invalid_model, "attribute 'coefficients' has ", w.size(), " elements for ",
           targets, " targets and ", features, " features");
    }
    // Without features no attribute bounds the number of targets.
    constexpr std::size_t max_targets = 1 << 20;
    if (targets > std::max(w.size(), max_targets)) fail(ErrorCode::limit, targets, " targets");
    b = node.attr_floats("intercepts", std::vector<float>(targets));
    require_count("intercepts", b.size(), targets);
  }
};

Kernel bind(BindContext& context) {
  const std::size_t targets = targets_of(context);
  const auto features = static_cast<std::size_t>(feature_count(context));
  return bind_regressor(context, {.columns = targets,
                                  .transform = read_post_transform(context),
                                  .score = [=, weights = Weights(context, targets, features)](
                                               std::span<const double> x, std::span<double> scores,
                                               std::span<double>) {
                                    for (std::size_t k = 0; k < targets; ++k) {
                                      double sum = weights.b[k];
                                      const float* w = weights.w.data() + k * features;
                                      for (std::size_t f = 0; f < features; ++f) sum += x[f] * w[f];
                                      scores[k] = sum;
                                    }
                                    return std::size_t{0};
                                  }});
}

std::vector<Val> expand(ExpandContext& context) {
  const PostTransform transform = read_post_transform(context);
  if (transform == PostTransform::softmax_zero || transform == PostTransform::probit) {
    fail(ErrorCode::unsupported, "LinearRegressor with post_transform ",
         context.attr_string("post_transform", ""), " has no derivative");
  }
  const std::size_t targets = targets_of(context);
  const std::size_t features = context.attr_floats("coefficients").size() / targets;
  const Weights weights(context, targets, features);
  Val x = context.x(0);
  const DType dtype = x.dtype() == DType::float64 ? DType::float64 : DType::float32;
  Builder& builder = context.builder();
  const auto n = static_cast<std::int64_t>(targets);
  const Val w = builder.constant(Tensor::of({n, static_cast<std::int64_t>(features)}, weights.w));
  const Val b = builder.constant(Tensor::of({n}, weights.b));
  x = graph::reshape(cast(x, dtype), {-1, static_cast<std::int64_t>(features)});
  Val y = matmul(x, transpose(cast(w, dtype), {1, 0})) + cast(b, dtype);
  if (transform == PostTransform::softmax) y = graph::softmax(y, -1);
  if (transform == PostTransform::logistic) y = unary("Sigmoid", y);
  return {cast(y, DType::float32)};
}

}  // namespace

extern const OpDef linear_regressor{
    .name = "LinearRegressor", .domain = ml_domain, .infer = infer, .bind = bind, .expand = expand};

}  // namespace ondine::kernels::ops
