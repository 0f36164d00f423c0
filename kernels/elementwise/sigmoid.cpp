// sigmoid.cpp — s(x) = 1 / (1 + e^-x) and its approximation by lines.
//   Sigmoid      s(x)                             dx = dy y (1 - y)
//   HardSigmoid  min(1, max(0, alpha x + beta))   dx = alpha dy where 0 < y < 1
#include "kernels/elementwise/unary.h"

namespace ondine::kernels::ops {
namespace {

constexpr auto sigmoid_rows = [](const auto& rows) { return rows.sigmoid; };
constexpr auto hard_sigmoid_of = [](auto x, Params p) {
  const auto line = p.a * x + p.b;
  return line < 0 ? decltype(x)(0) : line > 1 ? decltype(x)(1) : line;
};
Params hard_sigmoid_params(const NodeView& node) {
  return {node.attr_float("alpha", 0.2F), node.attr_float("beta", 0.5F)};
}

Kernel bind_hard_sigmoid(BindContext& context) {
  return bind_unary<hard_sigmoid_of>(context, FullFloats{}, hard_sigmoid_params(context));
}
std::vector<Val> sigmoid_grad(GradContext& g) {
  const Val y = g.y(0);
  return {g.dy(0) * y * (1.0 - y)};
}

std::vector<Val> hard_sigmoid_grad(GradContext& g) {
  const Val y = g.y(0);
  const Val zero = scalar_like(y, 0);
  const Val inside = logical_and(greater(y, zero), less(y, scalar_like(y, 1)));
  return {where(inside, g.dy(0) * hard_sigmoid_params(g).a, zero)};
}

}  // namespace

extern const OpDef sigmoid =
    unary_op("Sigmoid", bind_vector_op<sigmoid_rows>, sigmoid_grad, false, rounded_unary);
extern const OpDef hard_sigmoid =
    unary_op("HardSigmoid", bind_hard_sigmoid, hard_sigmoid_grad, true);

}  // namespace ondine::kernels::ops
