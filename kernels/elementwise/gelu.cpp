// gelu.cpp — x P(x), P the normal distribution:
//   exact  P = (1 + erf(x / sqrt 2)) / 2     dx = dy (P + x e^(-x^2 / 2) / sqrt(2 pi))
//   tanh   P = (1 + t) / 2, t = tanh u, u = sqrt(2 / pi) (x + 0.044715 x^3)
//                                            dx = dy (P + x (1 - t^2) u' / 2)
#include <numbers>

#include "kernels/elementwise/unary.h"

namespace ondine::kernels::ops {
namespace {

constexpr double cubic = 0.044715;
constexpr double sqrt_2_over_pi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
constexpr double inv_sqrt_2 = std::numbers::sqrt2 / 2;

constexpr auto exact_rows = [](const auto& rows) { return rows.gelu; };
constexpr auto tanh_rows = [](const auto& rows) { return rows.gelu_tanh; };
constexpr auto exact_gradients = [](const auto& rows) { return rows.gelu_gradient; };
constexpr auto tanh_gradients = [](const auto& rows) { return rows.gelu_tanh_gradient; };

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
  return by_tanh(context) ? bind_vector_op<tanh_rows>(context)
                          : bind_vector_op<exact_rows>(context);
}

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node("GeluGrad", {g.dy(0), g.x(0)},
                           {{"approximate", g.attr_string("approximate", "none")}}, ondine_domain)};
}

void infer_grad(InferContext& context) {
  by_tanh(context);
  infer_equal_inputs(context);
}

Kernel bind_grad(BindContext& context) {
  return by_tanh(context) ? bind_vector_grad<tanh_gradients>(context)
                          : bind_vector_grad<exact_gradients>(context);
}

std::vector<Val> expand_grad(ExpandContext& context) {
  const Val dy = context.x(0);
  const Val x = context.x(1);
  const Val square = x * x;
  if (by_tanh(context)) {
    const Val t = unary("Tanh", x * (square * (cubic * sqrt_2_over_pi) + sqrt_2_over_pi));
    const Val slope = square * (3 * cubic * sqrt_2_over_pi / 2) + sqrt_2_over_pi / 2;
    return {dy * ((t + 1.0) * 0.5 + x * (1.0 - t * t) * slope)};
  }
  const Val p = (unary("Erf", x * inv_sqrt_2) + 1.0) * 0.5;
  return {dy * (p + x * unary("Exp", square * -0.5) * (sqrt_2_over_pi / 2))};
}

}  // namespace

extern const OpDef gelu{
    .name = "Gelu",
    .infer = infer,
    .bind = bind,
    .grad = grad,
    .traits = {.inplace = 1, .per_sample = 1, .cheap = true, .cannot_fail = true},
    .rounded = {.reads = 0b1, .writes = true, .follows = true, .copy = 1}};
// A dozen passes over memory in one.
extern const OpDef gelu_grad = unary_grad_op("GeluGrad", bind_grad, expand_grad, infer_grad);

}  // namespace ondine::kernels::ops
