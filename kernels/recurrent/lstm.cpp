// lstm.cpp — LSTM: with i, o, f = sigmoid and g = tanh of (W x + R h + biases), each with its
// peephole, c = f c + i g and h = o tanh c; other activations as attributes. input_forget: f = 1 -
// i. 14 added layout, 22 bfloat16. Saved for the derivative: the inputs of the gates (of a standard
// LSTM the gates) and the cells. LSTMGrad (ai.ondine): see RecurrentGradInput.
#include "kernels/common/op.h"
#include "kernels/recurrent/fused_lstm.h"
#include "kernels/recurrent/recurrent_gradient.h"
#include "kernels/recurrent/recurrent_implementation.h"
#include "kernels/recurrent/recurrent_infer.h"
#include "kernels/recurrent/standard_lstm.h"

namespace ondine::kernels {

bool is_standard_lstm(const Recurrence& s) {
  using Kind = CellActivation::Kind;
  if (s.input_forget || s.peepholes) return false;
  for (std::size_t i = 0; i < s.activations.size(); ++i) {
    const Kind standard = i % 3 == 0 ? Kind::sigmoid : Kind::tanh;
    if (s.activations[i].kind != standard || s.activations[i].clip > 0) return false;
  }
  return true;
}

void unrolled_lstm_step(const UnrolledCell& cell, graph::Val gates, UnrolledState& state,
                        graph::Val h) {
  using graph::Val;
  gates = gates + graph::matmul(h, cell.r);
  if (cell.r_bias) gates = gates + cell.r_bias;
  Val in = cell.gate(gates, 0);
  Val out = cell.gate(gates, 1);
  Val forget = cell.gate(gates, 2);
  if (cell.peepholes) {
    in = in + cell.gate(cell.peepholes, 0) * state.c;
    forget = forget + cell.gate(cell.peepholes, 2) * state.c;
  }
  const CellActivation& f = cell.s.activation(cell.d, 0);
  in = activate(f, in);
  forget = cell.s.input_forget ? 1.0 - in : activate(f, forget);
  const Val candidate = activate(cell.s.activation(cell.d, 1), cell.gate(gates, 3));
  state.c = forget * state.c + in * candidate;
  if (cell.peepholes) out = out + cell.gate(cell.peepholes, 1) * state.c;
  state.h = activate(f, out) * activate(lstm_output_activation(cell.s, cell.d), state.c);
}

}  // namespace ondine::kernels

namespace ondine::kernels::ops {
namespace {

void unrolled_step(const UnrolledCell& cell, Val gates, UnrolledState& state) {
  unrolled_lstm_step(cell, gates, state, state.h);
}

bool supports_standard(const RecurrentDesc& desc, const math::SimdTables&) {
  return is_standard_lstm(desc.recurrence);
}
bool supports_fused(const RecurrentDesc& desc, const math::SimdTables&) {
  return supports_fused_lstm(desc.context, desc.recurrence);
}

constexpr RecurrentEntry forward[] = {
    {"fused", supports_fused, make_recurrent<FusedLstm>},
    {"standard", supports_standard, make_recurrent<ForwardDriver, StandardLstmCell>},
    {"general", math::supports_any, make_recurrent<ForwardDriver, LstmCell>}};
constexpr RecurrentEntry backward[] = {
    {"standard", supports_standard, make_recurrent<BackwardDriver, StandardLstmCell>},
    {"general", math::supports_any, make_recurrent<BackwardDriver, LstmCell>}};

void infer(InferContext& context) { infer_recurrent(context, lstm_traits); }
void infer_grad(InferContext& context) { infer_recurrent_grad(context, lstm_traits); }
Kernel bind(BindContext& context) { return bind_recurrent(context, lstm_traits, forward); }
Kernel bind_grad(BindContext& context) { return bind_recurrent(context, lstm_traits, backward); }
std::vector<Val> grad(GradContext& g) { return recurrent_gradient(g, lstm_traits); }
std::vector<Val> grad_of_grad(GradContext& g) {
  return recurrent_second_gradient(g, lstm_traits, unrolled_step);
}

std::vector<Val> expand(ExpandContext& context) {
  return unroll(context, lstm_traits, unrolled_step);
}

}  // namespace

extern const OpDef lstm{
    .name = "LSTM", .infer = infer, .bind = bind, .grad = grad, .expand = expand};
extern const OpDef lstm_grad{.name = "LSTMGrad",
                             .domain = ondine_domain,
                             .infer = infer_grad,
                             .bind = bind_grad,
                             .grad = grad_of_grad};

}  // namespace ondine::kernels::ops
