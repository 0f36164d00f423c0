// trigonometric.cpp
//   Sin   dx = dy cos x         Asin  dx = dy / sqrt(1 - x^2)
//   Cos   dx = -dy sin x        Acos  dx = -dy / sqrt(1 - x^2)
//   Tan   dx = dy (1 + y^2)     Atan  dx = dy / (1 + x^2)
#include <cmath>

#include "kernels/elementwise/unary.h"

namespace ondine::kernels::ops {
namespace {

constexpr auto sin_rows = [](const auto& rows) { return rows.sin; };
constexpr auto cos_rows = [](const auto& rows) { return rows.cos; };
constexpr auto tan_of = [](auto x, Params) { return std::tan(x); };
constexpr auto asin_of = [](auto x, Params) { return std::asin(x); };
constexpr auto acos_of = [](auto x, Params) { return std::acos(x); };
constexpr auto atan_of = [](auto x, Params) { return std::atan(x); };

std::vector<Val> sin_grad(GradContext& g) { return {g.dy(0) * unary("Cos", g.x(0))}; }
std::vector<Val> cos_grad(GradContext& g) { return {-(g.dy(0) * unary("Sin", g.x(0)))}; }
std::vector<Val> tan_grad(GradContext& g) {
  const Val y = g.y(0);
  return {g.dy(0) * (1.0 + y * y)};
}
std::vector<Val> asin_grad(GradContext& g) {
  const Val x = g.x(0);
  return {g.dy(0) / unary("Sqrt", 1.0 - x * x)};
}
std::vector<Val> acos_grad(GradContext& g) { return {-asin_grad(g)[0]}; }
std::vector<Val> atan_grad(GradContext& g) {
  const Val x = g.x(0);
  return {g.dy(0) / (1.0 + x * x)};
}

}  // namespace

extern const OpDef sin_op = unary_op("Sin", bind_vector_op<sin_rows>, sin_grad);
extern const OpDef cos_op = unary_op("Cos", bind_vector_op<cos_rows>, cos_grad);
extern const OpDef tan_op = unary_op("Tan", bind_unary_op<tan_of>, tan_grad);
extern const OpDef asin_op = unary_op("Asin", bind_unary_op<asin_of>, asin_grad);
extern const OpDef acos_op = unary_op("Acos", bind_unary_op<acos_of>, acos_grad);
extern const OpDef atan_op = unary_op("Atan", bind_unary_op<atan_of>, atan_grad);

}  // namespace ondine::kernels::ops
