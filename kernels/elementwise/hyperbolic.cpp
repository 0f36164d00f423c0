// hyperbolic.cpp
//   Sinh  dx = dy cosh x       Asinh  dx = dy / sqrt(x^2 + 1)
//   Cosh  dx = dy sinh x       Acosh  dx = dy / sqrt(x^2 - 1)
//   Tanh  dx = dy (1 - y^2)    Atanh  dx = dy / (1 - x^2)
#include <cmath>

#include "kernels/elementwise/unary.h"

namespace ondine::kernels::ops {
namespace {

constexpr auto sinh_of = [](auto x, Params) { return std::sinh(x); };
constexpr auto cosh_of = [](auto x, Params) { return std::cosh(x); };
constexpr auto tanh_rows = [](const auto& rows) { return rows.tanh; };
constexpr auto asinh_of = [](auto x, Params) { return std::asinh(x); };
constexpr auto acosh_of = [](auto x, Params) { return std::acosh(x); };
constexpr auto atanh_of = [](auto x, Params) { return std::atanh(x); };

std::vector<Val> sinh_grad(GradContext& g) { return {g.dy(0) * unary("Cosh", g.x(0))}; }
std::vector<Val> cosh_grad(GradContext& g) { return {g.dy(0) * unary("Sinh", g.x(0))}; }
std::vector<Val> tanh_grad(GradContext& g) {
  const Val y = g.y(0);
  return {g.dy(0) * (1.0 - y * y)};
}
std::vector<Val> asinh_grad(GradContext& g) {
  const Val x = g.x(0);
  return {g.dy(0) / unary("Sqrt", x * x + 1.0)};
}
std::vector<Val> acosh_grad(GradContext& g) {
  const Val x = g.x(0);
  return {g.dy(0) / unary("Sqrt", x * x - 1.0)};
}
std::vector<Val> atanh_grad(GradContext& g) {
  const Val x = g.x(0);
  return {g.dy(0) / (1.0 - x * x)};
}

}  // namespace

extern const OpDef sinh_op = unary_op("Sinh", bind_unary_op<sinh_of>, sinh_grad);
extern const OpDef cosh_op = unary_op("Cosh", bind_unary_op<cosh_of>, cosh_grad);
extern const OpDef tanh_op =
    unary_op("Tanh", bind_vector_op<tanh_rows>, tanh_grad, false, rounded_unary);
extern const OpDef asinh_op = unary_op("Asinh", bind_unary_op<asinh_of>, asinh_grad);
extern const OpDef acosh_op = unary_op("Acosh", bind_unary_op<acosh_of>, acosh_grad);
extern const OpDef atanh_op = unary_op("Atanh", bind_unary_op<atanh_of>, atanh_grad);

}  // namespace ondine::kernels::ops
