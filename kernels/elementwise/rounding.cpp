// rounding.cpp — Sign, Floor, Ceil and Round (half to even). The derivative is zero.
#include <cmath>

#include "kernels/elementwise/unary.h"

namespace ondine::kernels::ops {
namespace {

constexpr auto sign_of = [](auto x, Params) {
  if (x != x) return x;  // NaN
  return static_cast<decltype(x)>((x > 0) - (x < 0));
};
constexpr auto floor_of = [](auto x, Params) { return std::floor(x); };
constexpr auto ceil_of = [](auto x, Params) { return std::ceil(x); };
constexpr auto round_of = [](auto x, Params) { return std::nearbyint(x); };

}  // namespace

extern const OpDef sign = step_op("Sign", bind_unary_op<sign_of, Computed>);
extern const OpDef floor_op = step_op("Floor", bind_unary_op<floor_of>);
extern const OpDef ceil_op = step_op("Ceil", bind_unary_op<ceil_of>);
extern const OpDef round_op = step_op("Round", bind_unary_op<round_of>);

}  // namespace ondine::kernels::ops
