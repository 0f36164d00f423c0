// bit_shift.cpp — x << y or x >> y of integers (signed ones since version 28, with an arithmetic
// shift to the right). A negative shift or one of at least the width of the type leaves only the
// fill: 0, or -1 for a negative x shifted right. No derivative.
#include <type_traits>

#include "kernels/elementwise/binary.h"

namespace ondine::kernels::ops {
namespace {

template <class T>
bool within_width(T shift) {
  return shift >= 0 && static_cast<std::uint64_t>(shift) < 8 * sizeof(T);
}

constexpr auto shifted_left = [](auto x, auto y) {
  using T = decltype(x);
  using Bits = std::make_unsigned_t<T>;
  return within_width(y) ? static_cast<T>(std::uint64_t{static_cast<Bits>(x)} << y) : T{0};
};
constexpr auto shifted_right = [](auto x, auto y) {
  using T = decltype(x);
  const T fill = x < 0 ? static_cast<T>(-1) : T{0};
  return within_width(y) ? static_cast<T>(x >> y) : fill;
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
  return to_left(context) ? bind_binary_op<shifted_left, Integers>(context)
                          : bind_binary_op<shifted_right, Integers>(context);
}

}  // namespace

extern const OpDef bit_shift{.name = "BitShift",
                             .infer = infer,
                             .bind = bind,
                             .traits = {.inplace = 3, .cheap = true},
                             .no_gradient = any_input};

}  // namespace ondine::kernels::ops
