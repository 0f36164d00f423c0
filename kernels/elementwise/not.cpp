// not.cpp — Not of bool, BitwiseNot of integers. No derivative.
#include "kernels/elementwise/unary.h"

namespace ondine::kernels::ops {
namespace {

constexpr auto negated = [](bool x, Params) { return !x; };
constexpr auto complement = [](auto x, Params) { return ~x; };

}  // namespace

extern const OpDef not_op = step_op("Not", bind_unary_op<negated, Types<bool>>);
extern const OpDef bitwise_not = step_op("BitwiseNot", bind_unary_op<complement, Integers>);

}  // namespace ondine::kernels::ops
