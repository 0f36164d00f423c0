// shrink.cpp — y = x + bias for x < -lambd, x - bias for x > lambd, 0 between;
// dx = dy where |x| > lambd. Integers too.
#include "kernels/common/saturate.h"
#include "kernels/elementwise/unary.h"

namespace ondine::kernels::ops {
namespace {

constexpr auto shrunk = [](auto x, Params p) {
  using T = decltype(x);
  const auto value = static_cast<double>(x);
  if (value < -p.a) return saturate<T>(value + p.b);
  if (value > p.a) return saturate<T>(value - p.b);
  return value != value ? x : T(0);
};

float lambd(const NodeView& node) { return node.attr_float("lambd", 0.5F); }

Kernel bind(BindContext& context) {
  return bind_unary<shrunk>(context, Computed{},
                            {lambd(context), context.attr_float("bias", 0.0F)});
}

std::vector<Val> grad(GradContext& g) {
  const Val x = g.x(0);
  const Val outside = greater(unary("Abs", x), scalar_like(x, lambd(g)));
  return {where(outside, g.dy(0), scalar_like(x, 0))};
}

}  // namespace

extern const OpDef shrink = unary_op("Shrink", bind, grad, true);

}  // namespace ondine::kernels::ops
