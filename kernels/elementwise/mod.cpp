// mod.cpp — fmod = 0: a - floor(a / b) b with the sign of b, of integers and since version 28 of
// floating point numbers; fmod = 1: the remainder of C, with the sign of a. With the rounded
// quotient q: da = dy, db = -dy q.
#include <cmath>

#include "kernels/elementwise/binary.h"

namespace ondine::kernels::ops {
namespace {

template <class T>
void check_divisor(T b) {
  if (b == 0) fail(ErrorCode::mismatch, "integer remainder of a division by zero");
}

template <class T>
T remainder_at(T a, T b) {
  if constexpr (std::integral<T>) {
    check_divisor(b);
    if constexpr (std::signed_integral<T>) {
      if (b == -1) return 0;  // the lowest value divided by -1 is out of range
    }
    return static_cast<T>(a % b);
  } else {
    return std::fmod(a, b);
  }
}

constexpr auto remainder_of = [](auto a, auto b) { return remainder_at(a, b); };
constexpr auto modulus_of = [](auto a, auto b) {
  using T = decltype(a);
  const T rest = remainder_at(a, b);
  if constexpr (!std::integral<T>) {
    if (rest == 0) return std::copysign(rest, b);
  }
  if constexpr (!std::unsigned_integral<T>) {
    if (rest != 0 && (rest < 0) != (b < 0)) return static_cast<T>(rest + b);
  }
  return rest;
};

bool as_in_c(const NodeView& node) {
  const std::int64_t fmod = node.attr_int("fmod", 0);
  if (fmod != 0 && fmod != 1) {
    fail(ErrorCode::invalid_model, "attribute \"fmod\" is ", fmod, ", needed: 0 or 1");
  }
  return fmod == 1;
}

void infer(InferContext& context) {
  if (!as_in_c(context) && is_float(context.dtype(0)) && context.version() < 28) {
    fail(ErrorCode::invalid_model, "Mod of ", context.dtype(0),
         " needs the attribute fmod = 1 before version 28");
  }
  infer_binary(context);
}

Kernel bind(BindContext& context) {
  return as_in_c(context) ? bind_binary_op<remainder_of, Computed>(context)
                          : bind_binary_op<modulus_of, Computed>(context);
}

std::vector<Val> grad(GradContext& g) {
  const Val dy = g.dy(0);
  Val db;
  if (g.wants(1)) db = dy * unary("Round", (g.y(0) - g.x(0)) / g.x(1));
  return reduce_to_inputs(g, g.wants(0) ? dy : Val(), db);
}

}  // namespace

extern const OpDef mod_op{
    .name = "Mod", .infer = infer, .bind = bind, .grad = grad, .traits = {.inplace = 3}};

}  // namespace ondine::kernels::ops
