// prelu.cpp — y = x < 0 ? slope x : x;  dx = x > 0 ? dy : slope dy,  dslope = x dy where x <= 0,
// summed over what was broadcast. Before version 7 the slope is one number or one per channel (axis
// 1); afterwards it broadcasts to x. Version 9 adds integers.
#include "kernels/common/wrapping_arithmetic.h"
#include "kernels/elementwise/binary.h"

namespace ondine::kernels::ops {
namespace {

using PReluTypes = Types<float, double, std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>;

constexpr auto sloped = [](auto x, auto slope) {
  const auto product = wrapping_mul(x, slope);
  return x < 0 ? product : x;
};

// The number of axes after axis 1 that a slope with one element per channel does not have.
std::size_t missing_axes(const NodeView& node, const Dims& x, const Dims& slope) {
  const bool by_channel = node.version() < 7 && slope.size() == 1 && !slope[0].same(1);
  return by_channel && x.size() > 2 ? x.size() - 2 : 0;
}

Dims laid(const NodeView& node, const Dims& x, const Dims& slope) {
  Dims out = slope;
  out.insert(out.end(), missing_axes(node, x, slope), Dim(1));
  return out;
}

void infer(InferContext& context) {
  if (context.dtype(0) != context.dtype(1)) {
    context.reject("inputs 0 and 1 differ in dtype: ", context.dtype(0), " and ", context.dtype(1));
  }
  context.set_output(0, context.input(0));
  if (!context.ranked(0) || !context.ranked(1)) return;
  const Dims& x = context.dims(0);
  const Dims both = broadcast(x, laid(context, x, context.dims(1)));
  if (both.size() != x.size()) {
    context.reject("slope ", to_string(context.dims(1)), " does not broadcast to ", to_string(x));
  }
  for (std::size_t i = 0; i < x.size(); ++i) unify(x[i], both[i], "dims of x and slope");
}

Kernel bind(BindContext& context) {
  const DType dtype = context.dtype(0);
  const bool widened = compute_dtype(dtype) != dtype;
  const ConvertRow widen = widened ? row_to_float(dtype) : nullptr;
  const Shape x = context.shape(0);
  const Shape slope = *to_shape(laid(context, to_dims(x), to_dims(context.shape(1))));
  Elementwise what;
  what.row = pick_row<BinaryRows<sloped>>(compute_dtype(dtype), PReluTypes{});
  what.out = x;
  what.operands = {{0, x, widen}, {1, slope, widen}};
  if (widened) what.narrow = row_from_float(dtype);
  return elementwise(context, what);
}

std::vector<Val> grad(GradContext& g) {
  const Val x = g.x(0);
  const Val dy = g.dy(0);
  Val slope = g.x(1);
  if (x.ranked() && slope.ranked()) {
    std::vector<std::int64_t> axes;
    for (std::size_t i = 0; i < missing_axes(g, x.dims(), slope.dims()); ++i) {
      axes.push_back(static_cast<std::int64_t>(i + 1));
    }
    if (!axes.empty()) slope = graph::unsqueeze(slope, axes);
  }
  const Val zero = scalar_like(x, 0);
  const Val positive = greater(x, zero);
  Val dx;
  Val dslope;
  if (g.wants(0)) dx = where(positive, dy, dy * slope);
  if (g.wants(1)) {
    dslope = graph::sum_to(where(positive, zero, x * dy), slope);
    if (slope.id() != g.x(1).id()) dslope = reshape_like(dslope, g.x(1));
  }
  return {dx, dslope};
}

}  // namespace

extern const OpDef prelu{.name = "PRelu",
                         .infer = infer,
                         .bind = bind,
                         .grad = grad,
                         .traits = {.inplace = 1, .cheap = true}};

}  // namespace ondine::kernels::ops
