// bit_shift.cpp — x << y or x >> y of unsigned integers; 0 when y is the width or more. No
// derivative.
#include "kernels/elementwise/binary.h"

namespace ondine::kernels::ops {
namespace {

using Unsigned = Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;

constexpr auto shifted_left = [](auto x, auto y) {
  using T = decltype(x);
  return static_cast<T>(y < 8 * sizeof(T) ? std::uint64_t{x} << y : 0);
};
constexpr auto shifted_right = [](auto x, auto y) {
  using T = decltype(x);
  return static_cast<T>(y < 8 * sizeof(T) ? std::uint64_t{x} >> y : 0);
};

bool to_left(const NodeView& node) {
  const std::string direction = node.attr_string("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    fail(ErrorCode::invalid_model, "attribute \"direction\" is ", quoted(direction),
         ", needed: \"LEFT\" or \"RIGHT\"");
  }
  return direction == "LEFT";
}

void infer(InferContext& context) {
  to_left(context);
  infer_binary(context);
}

Kernel bind(BindContext& context) {
  return to_left(context) ? bind_binary_op<shifted_left, Unsigned>(context)
                          : bind_binary_op<shifted_right, Unsigned>(context);
}

}  // namespace

extern const OpDef bit_shift{.name = "BitShift",
                             .infer = infer,
                             .bind = bind,
                             .traits = {.inplace = 3, .cheap = true},
                             .no_gradient = any_input};

}  // namespace ondine::kernels::ops
