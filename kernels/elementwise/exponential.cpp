// exponential.cpp
//   Exp  e^x    dx = dy y
//   Log  ln x   dx = dy / x
//   Erf         dx = dy 2 / sqrt(pi) e^(-x^2)
// Erf-9 takes integers too.
#include <cmath>
#include <numbers>

#include "kernels/elementwise/unary.h"

namespace ondine::kernels::ops {
namespace {

constexpr auto exp_rows = [](const auto& rows) { return rows.exp; };
constexpr auto log_rows = [](const auto& rows) { return rows.log; };
constexpr auto erf_rows = [](const auto& rows) { return rows.erf; };
constexpr auto erf_of = [](auto x, Params) { return std::erf(static_cast<double>(x)); };

Kernel bind_erf(BindContext& context) {
  const DType dtype = compute_dtype(context.dtype(0));
  return elementwise(context, pick_row<VectorRows<erf_rows, erf_of>>(dtype, Computed{}));
}

std::vector<Val> exp_grad(GradContext& g) { return {g.dy(0) * g.y(0)}; }
std::vector<Val> log_grad(GradContext& g) { return {g.dy(0) / g.x(0)}; }
std::vector<Val> erf_grad(GradContext& g) {
  const Val x = g.x(0);
  return {g.dy(0) * (2 * std::numbers::inv_sqrtpi) * unary("Exp", -(x * x))};
}

}  // namespace

extern const OpDef exp_op = unary_op("Exp", bind_vector_op<exp_rows>, exp_grad);
extern const OpDef log_op = unary_op("Log", bind_vector_op<log_rows>, log_grad);
extern const OpDef erf_op = unary_op("Erf", bind_erf, erf_grad);

}  // namespace ondine::kernels::ops
