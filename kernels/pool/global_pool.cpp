// global_pool.cpp — GlobalAveragePool, GlobalMaxPool, GlobalLpPool: mean, maximum or p-norm over
// all spatial axes, which stay as ones. They are reductions. GlobalLpPool's p is a float in version
// 1; 22 added bfloat16.
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  const Type& x = context.input(0);
  if (!x.ranked()) return context.set_output(0, x.dtype, std::nullopt);
  if (x.rank() < 2) context.reject("X must have rank 2 or more, found ", to_string(*x.dims));
  Dims y(x.rank(), Dim(1));
  y[0] = (*x.dims)[0];
  y[1] = (*x.dims)[1];
  context.set_output(0, x.dtype, y);
}

double exponent(const NodeView& node) {
  const double p = node.version() < 2 ? double{node.attr_float("p", 2)}
                                      : static_cast<double>(node.attr_int("p", 2));
  if (!(p > 0)) fail(ErrorCode::mismatch, "p is ", p, ", must be above 0");
  return p;
}

void infer_lp(InferContext& context) {
  exponent(context);
  infer(context);
}

std::vector<std::int64_t> spatial_axes(Val x) {
  if (!x.ranked()) fail(ErrorCode::unsupported, "a global pool needs a known rank");
  std::vector<std::int64_t> axes;
  for (std::size_t i = 2; i < x.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  return axes;
}

std::vector<Val> expand_mean(ExpandContext& context) {
  const Val x = context.x(0);
  const auto axes = spatial_axes(x);
  return {axes.empty() ? x : graph::reduce_mean(x, axes, true)};
}

std::vector<Val> expand_max(ExpandContext& context) {
  const Val x = context.x(0);
  const auto axes = spatial_axes(x);
  return {axes.empty() ? x : graph::reduce_max(x, axes, true)};
}

std::vector<Val> expand_lp(ExpandContext& context) {
  const Val x = context.x(0);
  const auto axes = spatial_axes(x);
  const double p = exponent(context);
  const Val size = unary("Abs", x);
  if (axes.empty()) return {size};
  const Val axes_value = context.builder().int64s(axes);
  if (p == 1) return {graph::reduce_sum(size, axes, true)};
  if (p == 2) return {context.builder().node("ReduceL2", {x, axes_value})};
  return {graph::pow(graph::reduce_sum(graph::pow(size, p), axes, true), 1 / p)};
}

}  // namespace

extern const OpDef global_average_pool{
    .name = "GlobalAveragePool", .infer = infer, .expand = expand_mean};
extern const OpDef global_max_pool{.name = "GlobalMaxPool", .infer = infer, .expand = expand_max};
extern const OpDef global_lp_pool{.name = "GlobalLpPool", .infer = infer_lp, .expand = expand_lp};

}  // namespace ondine::kernels::ops
