// algebra.cpp — unary algebra.
//   Abs        |x|        dx = dy sign x
//   Neg        -x         dx = -dy
//   Sqrt       x^(1/2)    dx = dy / (2 y)
//   Reciprocal 1/x        dx = -dy y^2
// Integers wrap: |min| = -min = min.
#include <cmath>
#include <concepts>

#include "kernels/common/wrapping_arithmetic.h"
#include "kernels/elementwise/unary.h"

namespace ondine::kernels::ops {
namespace {

constexpr auto abs_of = [](auto x, Params) {
  if constexpr (std::integral<decltype(x)>) {
    return x < 0 ? wrapping_sub<decltype(x)>(0, x) : x;
  } else {
    return std::fabs(x);
  }
};
constexpr auto neg_of = [](auto x, Params) { return wrapping_sub<decltype(x)>(0, x); };
constexpr auto sqrt_rows = [](const auto& rows) { return rows.sqrt; };
constexpr auto reciprocal_rows = [](const auto& rows) { return rows.reciprocal; };

std::vector<Val> abs_grad(GradContext& g) { return {g.dy(0) * unary("Sign", g.x(0))}; }
std::vector<Val> neg_grad(GradContext& g) { return {-g.dy(0)}; }
std::vector<Val> sqrt_grad(GradContext& g) { return {g.dy(0) * 0.5 / g.y(0)}; }
std::vector<Val> reciprocal_grad(GradContext& g) {
  const Val y = g.y(0);
  return {-(g.dy(0) * y * y)};
}

}  // namespace

extern const OpDef abs_op =
    unary_op("Abs", bind_unary_op<abs_of, Computed>, abs_grad, true, rounded_unary);
extern const OpDef neg = unary_op("Neg", bind_unary_op<neg_of, Computed>, neg_grad, true);
extern const OpDef sqrt_op = unary_op("Sqrt", bind_vector_op<sqrt_rows>, sqrt_grad, true);
extern const OpDef reciprocal =
    unary_op("Reciprocal", bind_vector_op<reciprocal_rows>, reciprocal_grad, true);

}  // namespace ondine::kernels::ops
