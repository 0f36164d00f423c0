// hard_swish.cpp — y = x min(1, max(0, x / 6 + 1/2));  dx = 0 to -3, dy (x / 3 + 1/2) to 3, then
// dy.
#include "kernels/elementwise/unary.h"

namespace ondine::kernels::ops {
namespace {

constexpr auto rows = [](const auto& kernels) { return kernels.hard_swish; };
constexpr auto gradients = [](const auto& kernels) { return kernels.hard_swish_gradient; };

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node("HardSwishGrad", {g.dy(0), g.x(0)}, {}, ondine_domain)};
}

std::vector<Val> expand_grad(ExpandContext& context) {
  const Val dy = context.x(0);
  const Val x = context.x(1);
  const Val inner = where(greater(x, scalar_like(x, -3)), dy * (x / 3.0 + 0.5), scalar_like(x, 0));
  return {where(less(x, scalar_like(x, 3)), inner, dy)};
}

}  // namespace

extern const OpDef hard_swish =
    unary_op("HardSwish", bind_vector_op<rows>, grad, true, rounded_unary);
extern const OpDef hard_swish_grad =
    unary_grad_op("HardSwishGrad", bind_vector_grad<gradients>, expand_grad);

}  // namespace ondine::kernels::ops
