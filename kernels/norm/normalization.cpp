// normalization.cpp — normalizations that are expansions:
// LpNormalization: y = x / |x|_p along an axis, 0 where all elements are 0.
// MeanVarianceNormalization: y = (x - mean) / (std + 1e-9) over `axes`.
// LRN: y = x / (bias + alpha / size sum x^2)^beta, the sum over `size` channels around.
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

void require_ranked(const NodeView& node, Val x) {
  if (!x.ranked()) fail(ErrorCode::unsupported, node.node().op->name, " needs a known rank");
}

void infer_lp(InferContext& context) {
  const Type& x = context.input(0);
  if (x.ranked()) NodeView::normalize_axis(context.attr_int("axis", -1), x.rank());
  const auto p = context.attr_int("p", 2);
  if (p != 1 && p != 2) context.reject("p must be 1 or 2, found ", p);
  context.set_output(0, x);
}

std::vector<Val> expand_lp(ExpandContext& context) {
  const Val x = context.x(0);
  const bool first = context.attr_int("p", 2) == 1;
  const Val sum =
      graph::reduce_sum(first ? unary("Abs", x) : x * x, {context.attr_int("axis", -1)}, true);
  const Val safe =
      graph::where(graph::equal(sum, graph::scalar_like(sum, 0)), graph::scalar_like(sum, 1), sum);
  return {x / (first ? safe : unary("Sqrt", safe))};
}

// Versions below 9, an experiment of the standard that onnxruntime kept, have flags for axes.
bool is_early_mvn(const NodeView& node) { return node.node().version < 9; }

std::vector<std::int64_t> mvn_axes(const NodeView& node) {
  if (!is_early_mvn(node)) return node.attr_ints("axes", {0, 2, 3});
  return node.attr_int("across_channels", 0) != 0 ? std::vector<std::int64_t>{1, 2, 3}
                                                  : std::vector<std::int64_t>{2, 3};
}

void infer_mvn(InferContext& context) {
  const Type& x = context.input(0);
  if (is_early_mvn(context) && context.has_attr("axes")) {
    fail(ErrorCode::unsupported, "attribute 'axes' is not supported below version 9");
  }
  if (x.ranked()) {
    if (is_early_mvn(context) && x.rank() != 4) {
      context.reject("the input must have rank 4, found ", graph::to_string(*x.dims));
    }
    for (const auto axis : mvn_axes(context)) {
      NodeView::normalize_axis(axis, x.rank());
    }
  }
  context.set_output(0, x);
}

std::vector<Val> expand_mvn(ExpandContext& context) {
  const Val x = context.x(0);
  const auto axes = mvn_axes(context);
  const Val centred = x - graph::reduce_mean(x, axes, true);
  if (is_early_mvn(context) && context.attr_int("normalize_variance", 1) == 0) return {centred};
  const Val variance = graph::reduce_mean(centred * centred, axes, true);
  // The root has no derivative at 0, where x is constant.
  const Val varies = graph::greater(variance, graph::scalar_like(x, 0));
  const Val safe = graph::where(varies, variance, graph::scalar_like(x, 1));
  const Val deviation = graph::where(varies, unary("Sqrt", safe), graph::scalar_like(x, 0));
  return {centred / (deviation + 1e-9)};
}

std::int64_t lrn_size(const NodeView& node) {
  const std::int64_t size = node.attr_int("size", 0);
  if (size < 1) fail(ErrorCode::mismatch, "size is ", size, ", must be 1 or more");
  return size;
}

void infer_lrn(InferContext& context) {
  lrn_size(context);
  if (context.ranked(0) && context.rank(0) < 2) context.reject("X must have rank 2 or more");
  context.set_output(0, context.input(0));
}

std::vector<Val> expand_lrn(ExpandContext& context) {
  const Val x = context.x(0);
  require_ranked(context, x);
  const std::int64_t size = lrn_size(context);
  // Channels become the first spatial axis of a sum pool, the rest one more.
  const Val square = graph::reshape(x * x, x.rank() == 2 ? std::vector<std::int64_t>{0, 0, 1}
                                                         : std::vector<std::int64_t>{0, 0, -1});
  const std::int64_t before = (size - 1) / 2;
  const Val sums =
      context.builder().node("SumPool", {graph::unsqueeze(square, {1})},
                             {{"kernel_shape", std::vector<std::int64_t>{size, 1}},
                              {"pads", std::vector<std::int64_t>{before, 0, size - 1 - before, 0}}},
                             ondine_domain);
  const double alpha = context.attr_float("alpha", 1e-4F);
  const Val scaled = graph::reshape_like(sums, x) * (alpha / static_cast<double>(size)) +
                     double{context.attr_float("bias", 1)};
  return {x / graph::pow(scaled, double{context.attr_float("beta", 0.75F)})};
}

}  // namespace

extern const OpDef lp_normalization{
    .name = "LpNormalization", .infer = infer_lp, .expand = expand_lp};
extern const OpDef mean_variance_normalization{
    .name = "MeanVarianceNormalization", .infer = infer_mvn, .expand = expand_mvn};
extern const OpDef lrn{.name = "LRN", .infer = infer_lrn, .expand = expand_lrn};

}  // namespace ondine::kernels::ops
