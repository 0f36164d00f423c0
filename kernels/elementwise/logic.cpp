// logic.cpp — And, Or, Xor of bool (limited broadcasting before version 7), BitwiseAnd, BitwiseOr,
// BitwiseXor of integers. No derivative.
#include "kernels/elementwise/binary.h"

namespace ondine::kernels::ops {
namespace {

constexpr auto both = [](bool a, bool b) { return a && b; };
constexpr auto either = [](bool a, bool b) { return a || b; };
constexpr auto one_of = [](bool a, bool b) { return a != b; };
constexpr auto bits_and = [](auto a, auto b) { return a & b; };
constexpr auto bits_or = [](auto a, auto b) { return a | b; };
constexpr auto bits_xor = [](auto a, auto b) { return a ^ b; };

constexpr OpDef logical(std::string_view name, Kernel (*bind)(BindContext&)) {
  return {.name = name,
          .infer = infer_binary,
          .bind = bind,
          .traits = {.inplace = 3, .cheap = true, .commutative = true},
          .no_gradient = any_input};
}

}  // namespace

extern const OpDef and_op = logical("And", bind_binary_op<both, Types<bool>>);
extern const OpDef or_op = logical("Or", bind_binary_op<either, Types<bool>>);
extern const OpDef xor_op = logical("Xor", bind_binary_op<one_of, Types<bool>>);
extern const OpDef bitwise_and = logical("BitwiseAnd", bind_binary_op<bits_and, Integers>);
extern const OpDef bitwise_or = logical("BitwiseOr", bind_binary_op<bits_or, Integers>);
extern const OpDef bitwise_xor = logical("BitwiseXor", bind_binary_op<bits_xor, Integers>);

}  // namespace ondine::kernels::ops
