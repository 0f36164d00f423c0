// softplus.cpp
//   Softplus  p(x) = ln(1 + e^x)   dx = dy s(x), s: Sigmoid
//   Softsign  x / (1 + |x|)        dx = dy / (1 + |x|)^2
//   Mish      x t, t = tanh p(x)   dx = dy (t + x s(x) (1 - t^2))
#include <cmath>

#include "kernels/ops/unary.h"

namespace ondine::kernels::ops {
namespace {

template <class T>
T softplus_at(T x) {
  if (x != x) return x;
  return (x > 0 ? x : T(0)) + std::log1p(std::exp(-std::fabs(x)));
}

constexpr auto softplus_of = [](auto x, Params) { return softplus_at(x); };
constexpr auto softsign_of = [](auto x, Params) { return x / (1 + std::fabs(x)); };
constexpr auto mish_of = [](auto x, Params) { return x * std::tanh(softplus_at(x)); };

std::vector<Val> softplus_grad(GradContext& g) { return {g.dy(0) * unary("Sigmoid", g.x(0))}; }

std::vector<Val> softsign_grad(GradContext& g) {
  const Val t = 1.0 + unary("Abs", g.x(0));
  return {g.dy(0) / (t * t)};
}

std::vector<Val> mish_grad(GradContext& g) {
  const Val x = g.x(0);
  const Val t = unary("Tanh", unary("Softplus", x));
  return {g.dy(0) * (t + x * unary("Sigmoid", x) * (1.0 - t * t))};
}

}  // namespace

extern const OpDef softplus = unary_op("Softplus", bind_unary_op<softplus_of>, softplus_grad);
extern const OpDef softsign = unary_op("Softsign", bind_unary_op<softsign_of>, softsign_grad, true);
extern const OpDef mish = unary_op("Mish", bind_unary_op<mish_of>, mish_grad);

}  // namespace ondine::kernels::ops
