// exponential.cpp
//   Exp  e^x    dx = dy y
//   Log  ln x   dx = dy / x
//   Erf         dx = dy 2 / sqrt(pi) e^(-x^2)
// Erf-9 takes integers too.
#include <cmath>
#include <concepts>
#include <numbers>

#include "kernels/ops/unary.h"

namespace ondine::kernels::ops {
namespace {

constexpr auto exp_of = [](auto x, Params) { return std::exp(x); };
constexpr auto log_of = [](auto x, Params) { return std::log(x); };
constexpr auto erf_of = [](auto x, Params) {
  if constexpr (std::integral<decltype(x)>) {
    return std::erf(static_cast<double>(x));
  } else {
    return std::erf(x);
  }
};

std::vector<Val> exp_grad(GradContext& g) { return {g.dy(0) * g.y(0)}; }
std::vector<Val> log_grad(GradContext& g) { return {g.dy(0) / g.x(0)}; }
std::vector<Val> erf_grad(GradContext& g) {
  const Val x = g.x(0);
  return {g.dy(0) * (2 * std::numbers::inv_sqrtpi) * unary("Exp", -(x * x))};
}

}  // namespace

extern const OpDef exp_op = unary_op("Exp", bind_unary_op<exp_of>, exp_grad);
extern const OpDef log_op = unary_op("Log", bind_unary_op<log_of>, log_grad);
extern const OpDef erf_op = unary_op("Erf", bind_unary_op<erf_of, Computed>, erf_grad);

}  // namespace ondine::kernels::ops
