// gelu.cpp — x P(x), P the normal distribution:
//   exact  P = (1 + erf(x / sqrt 2)) / 2     dx = dy (P + x e^(-x^2 / 2) / sqrt(2 pi))
//   tanh   P = (1 + t) / 2, t = tanh u, u = sqrt(2 / pi) (x + 0.044715 x^3)
//                                            dx = dy (P + x (1 - t^2) u' / 2)
#include <cmath>
#include <numbers>

#include "kernels/ops/unary.h"

namespace ondine::kernels::ops {
namespace {

constexpr double cubic = 0.044715;
constexpr double sqrt_2_over_pi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
constexpr double inv_sqrt_2 = std::numbers::sqrt2 / 2;

constexpr auto exact_of = [](auto x, Params) {
  using T = decltype(x);
  return x * std::erfc(x * static_cast<T>(-inv_sqrt_2)) / 2;
};
constexpr auto tanh_of = [](auto x, Params) {
  using T = decltype(x);
  const T u = static_cast<T>(sqrt_2_over_pi) * (x + static_cast<T>(cubic) * x * x * x);
  return x * (1 + std::tanh(u)) / 2;
};

bool by_tanh(const NodeView& node) {
  const std::string kind = node.attr_string("approximate", "none");
  if (kind != "none" && kind != "tanh") {
    fail(ErrorCode::invalid_model, "attribute \"approximate\" is ", quoted(kind),
         ", needed: \"none\" or \"tanh\"");
  }
  return kind == "tanh";
}

void infer(InferContext& context) {
  by_tanh(context);
  infer_same_as_input(context);
}

Kernel bind(BindContext& context) {
  return by_tanh(context) ? bind_unary<tanh_of>(context, FullFloats{})
                          : bind_unary<exact_of>(context, FullFloats{});
}

std::vector<Val> grad(GradContext& g) {
  const Val x = g.x(0);
  const Val square = x * x;
  if (by_tanh(g)) {
    const Val t = unary("Tanh", x * (square * (cubic * sqrt_2_over_pi) + sqrt_2_over_pi));
    const Val slope = square * (3 * cubic * sqrt_2_over_pi / 2) + sqrt_2_over_pi / 2;
    return {g.dy(0) * ((t + 1.0) * 0.5 + x * (1.0 - t * t) * slope)};
  }
  const Val p = (unary("Erf", x * inv_sqrt_2) + 1.0) * 0.5;
  return {g.dy(0) * (p + x * unary("Exp", square * -0.5) * (sqrt_2_over_pi / 2))};
}

}  // namespace

extern const OpDef gelu{
    .name = "Gelu", .infer = infer, .bind = bind, .grad = grad, .facts = {.inplace = 1}};

}  // namespace ondine::kernels::ops
