// gru.cpp — GRU: z = f(W_z x + R_z h), r = f(W_r x + R_r h), h = (1 - z) g + z h with
// g = g(W_h x + R_h (r h)) or, with linear_before_reset (version 3), g(W_h x + r (R_h h)), each
// with its biases. 14 added layout, 22 bfloat16. Saved for the derivative: the inputs of
// the activations of z, r and g, and the value in brackets. GRUGrad (ai.ondine): see
// RecurrentGradInput.
#include "kernels/common/op.h"
#include "kernels/recurrent/gru_cell.h"
#include "kernels/recurrent/recurrent_gradient.h"
#include "kernels/recurrent/recurrent_implementation.h"
#include "kernels/recurrent/recurrent_infer.h"

namespace ondine::kernels::ops {
namespace {

void unrolled_step(const UnrolledCell& cell, Val gates, UnrolledState& state) {
  const auto recurrent = [&](Val h, std::int64_t k) {
    const Val part = graph::matmul(h, cell.gate(cell.r, k));
    return cell.r_bias ? part + cell.gate(cell.r_bias, k) : part;
  };
  const CellActivation& f = cell.s.activation(cell.d, 0);
  const Val update = activate(f, cell.gate(gates, 0) + recurrent(state.h, 0));
  const Val reset = activate(f, cell.gate(gates, 1) + recurrent(state.h, 1));
  const Val inner =
      cell.s.linear_before_reset ? reset * recurrent(state.h, 2) : recurrent(reset * state.h, 2);
  const Val candidate = activate(cell.s.activation(cell.d, 1), cell.gate(gates, 2) + inner);
  state.h = (1.0 - update) * candidate + update * state.h;
}

constexpr RecurrentEntry forward[] = {
    {"general", math::supports_any, make_recurrent<ForwardDriver, GruCell>}};
constexpr RecurrentEntry backward[] = {
    {"general", math::supports_any, make_recurrent<BackwardDriver, GruCell>}};

void infer(InferContext& context) { infer_recurrent(context, gru_traits); }
void infer_grad(InferContext& context) { infer_recurrent_grad(context, gru_traits); }
Kernel bind(BindContext& context) { return bind_recurrent(context, gru_traits, forward); }
Kernel bind_grad(BindContext& context) { return bind_recurrent(context, gru_traits, backward); }
std::vector<Val> grad(GradContext& g) { return recurrent_gradient(g, gru_traits); }
std::vector<Val> grad_of_grad(GradContext& g) {
  return recurrent_second_gradient(g, gru_traits, unrolled_step);
}

std::vector<Val> expand(ExpandContext& context) {
  return unroll(context, gru_traits, unrolled_step);
}

}  // namespace

extern const OpDef gru{.name = "GRU", .infer = infer, .bind = bind, .grad = grad, .expand = expand};
extern const OpDef gru_grad{.name = "GRUGrad",
                            .domain = ondine_domain,
                            .infer = infer_grad,
                            .bind = bind_grad,
                            .grad = grad_of_grad};

}  // namespace ondine::kernels::ops
