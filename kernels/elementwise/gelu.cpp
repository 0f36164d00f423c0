// gelu.cpp — x P(x), P the normal distribution:
//   exact  P = (1 + erf(x / sqrt 2)) / 2     dx = dy (P + x e^(-x^2 / 2) / sqrt(2 pi))
//   tanh   P = (1 + t) / 2, t = tanh u, u = sqrt(2 / pi) (x + 0.044715 x^3)
//                                            dx = dy (P + x (1 - t^2) u' / 2)
// GeluGrad (ai.ondine): (dy, x) -> dx and, where there is an output 1, y again (OpDef::repeats).
#include <numbers>

#include "kernels/elementwise/row_chunks.h"
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
constexpr auto exact_both = [](const auto& rows) { return rows.gelu_gradient_and_value; };
constexpr auto tanh_both = [](const auto& rows) { return rows.gelu_tanh_gradient_and_value; };

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
  return {g.builder().node("GeluGrad", {g.dy(0), g.x(0)}, g.node().attributes, ondine_domain)};
}

void infer_grad(InferContext& context) {
  by_tanh(context);
  infer_equal_inputs(context);
  if (context.has_output(1)) context.set_output(1, context.input(1));
}

// dx and y.
template <class C, auto Member>
Kernel gradient_and_value(const BindContext& context) {
  return [rows = RowChunks<C, 2, 2>(context)](KernelContext& call) {
    rows.run(call, [](const auto& in, const auto& out, std::int64_t n) {
      Member(math::vector_kernels<C>())(out[0], out[1], in[0], in[1], n);
    });
  };
}

Kernel bind_both(BindContext& context) {
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    if (by_tanh(context)) return gradient_and_value<C, tanh_both>(context);
    return gradient_and_value<C, exact_both>(context);
  });
}

Kernel bind_grad(BindContext& context) {
  if (context.has_output(1)) return bind_both(context);
  return by_tanh(context) ? bind_vector_grad<tanh_gradients>(context)
                          : bind_vector_grad<exact_gradients>(context);
}

Val expand_dx(ExpandContext& context) {
  const Val dy = context.x(0);
  const Val x = context.x(1);
  const Val square = x * x;
  if (by_tanh(context)) {
    const Val t = unary("Tanh", x * (square * (cubic * sqrt_2_over_pi) + sqrt_2_over_pi));
    const Val slope = square * (3 * cubic * sqrt_2_over_pi / 2) + sqrt_2_over_pi / 2;
    return dy * ((t + 1.0) * 0.5 + x * (1.0 - t * t) * slope);
  }
  const Val p = (unary("Erf", x * inv_sqrt_2) + 1.0) * 0.5;
  return dy * (p + x * unary("Exp", square * -0.5) * (sqrt_2_over_pi / 2));
}

std::vector<Val> expand_grad(ExpandContext& context) {
  std::vector<Val> results{expand_dx(context)};
  if (context.has_output(1)) {
    results.push_back(context.builder().node(
        "Gelu", {context.x(1)}, {{"approximate", context.attr_string("approximate", "none")}}));
  }
  return results;
}

}  // namespace

extern const OpDef gelu{
    .name = "Gelu",
    .infer = infer,
    .bind = bind,
    .grad = grad,
    .traits = {.inplace = 1, .per_sample = 1, .cheap = true, .cannot_fail = true},
    .rounded = {.reads = 0b1, .writes = true, .follows = true, .copy = 1}};

namespace {

// A dozen passes over memory in one.
constexpr OpDef grad_op() {
  OpDef op = unary_grad_op("GeluGrad", bind_grad, expand_grad, infer_grad);
  op.traits.inplace_every_output = true;
  op.repeats = &gelu;
  return op;
}

}  // namespace

extern const OpDef gelu_grad = grad_op();

}  // namespace ondine::kernels::ops
