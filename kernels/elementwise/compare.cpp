// compare.cpp — Equal, Less, Greater, LessOrEqual, GreaterOrEqual: bool with broadcasting (limited
// before version 7). Nothing compares with NaN. No derivative. Equal-11 adds floats, Equal-19
// strings; Less and Greater take integers from version 9.
#include "kernels/elementwise/binary.h"

namespace ondine::kernels::ops {
namespace {

using Equatable =
    Types<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
          std::uint16_t, std::uint32_t, std::uint64_t, bool, std::string>;

constexpr auto is_equal = [](const auto& a, const auto& b) { return a == b; };
constexpr auto is_less = [](auto a, auto b) { return a < b; };
constexpr auto is_greater = [](auto a, auto b) { return a > b; };
constexpr auto is_at_most = [](auto a, auto b) { return a <= b; };
constexpr auto is_at_least = [](auto a, auto b) { return a >= b; };

constexpr OpDef comparison(std::string_view name, Kernel (*bind)(BindContext&),
                           bool commutative = false) {
  return {.name = name,
          .infer = infer_comparison,
          .bind = bind,
          .traits = {.cheap = true, .commutative = commutative},
          .no_gradient = any_input};
}

}  // namespace

extern const OpDef equal_op = comparison("Equal", bind_binary_op<is_equal, Equatable>, true);
extern const OpDef less_op = comparison("Less", bind_binary_op<is_less, Computed>);
extern const OpDef greater_op = comparison("Greater", bind_binary_op<is_greater, Computed>);
extern const OpDef less_or_equal = comparison("LessOrEqual", bind_binary_op<is_at_most, Computed>);
extern const OpDef greater_or_equal =
    comparison("GreaterOrEqual", bind_binary_op<is_at_least, Computed>);

}  // namespace ondine::kernels::ops
