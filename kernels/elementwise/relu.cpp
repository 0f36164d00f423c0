// relu.cpp — Rectifiers. Derivatives read y instead of x where its sign is that of x, so that x can
// be freed.
//   Relu            max(x, 0)               dx = dy where y > 0
//   LeakyRelu       x < 0 ? alpha x : x     dx = x > 0 ? dy : alpha dy
//   ThresholdedRelu x > alpha ? x : 0       dx = dy where x > alpha
// Relu-14 takes signed integers too.
#include "kernels/elementwise/unary.h"

namespace ondine::kernels::ops {
namespace {

using ReluTypes = Types<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t>;

// NaN stays NaN.
constexpr auto relu_of = [](auto x, Params) { return x < 0 ? decltype(x)(0) : x; };
constexpr auto leaky_of = [](auto x, Params p) {
  const auto sloped = x * p.a;
  return x < 0 ? sloped : x;
};
constexpr auto thresholded_of = [](auto x, Params p) { return x > p.a ? x : decltype(x)(0); };

float leaky_alpha(const NodeView& node) { return node.attr_float("alpha", 0.01F); }
float threshold(const NodeView& node) { return node.attr_float("alpha", 1.0F); }

Kernel bind_leaky(BindContext& context) {
  return bind_unary<leaky_of>(context, FullFloats{}, {leaky_alpha(context)});
}
Kernel bind_thresholded(BindContext& context) {
  return bind_unary<thresholded_of>(context, FullFloats{}, {threshold(context)});
}

std::vector<Val> relu_grad(GradContext& g) {
  const Val y = g.y(0);
  const Val zero = scalar_like(y, 0);
  return {where(greater(y, zero), g.dy(0), zero)};
}

std::vector<Val> leaky_grad(GradContext& g) {
  const double alpha = leaky_alpha(g);
  const Val side = alpha >= 0 ? g.y(0) : g.x(0);
  const Val dy = g.dy(0);
  return {where(greater(side, scalar_like(side, 0)), dy, dy * alpha)};
}

std::vector<Val> thresholded_grad(GradContext& g) {
  const double alpha = threshold(g);
  const Val zero = scalar_like(g.dy(0), 0);
  const Val kept = alpha >= 0 ? greater(g.y(0), zero) : greater(g.x(0), scalar_like(g.x(0), alpha));
  return {where(kept, g.dy(0), zero)};
}

}  // namespace

extern const OpDef relu =
    unary_op("Relu", bind_unary_op<relu_of, ReluTypes>, relu_grad, true, rounded_unary);
extern const OpDef leaky_relu = unary_op("LeakyRelu", bind_leaky, leaky_grad, true);
extern const OpDef thresholded_relu =
    unary_op("ThresholdedRelu", bind_thresholded, thresholded_grad, true);

}  // namespace ondine::kernels::ops
