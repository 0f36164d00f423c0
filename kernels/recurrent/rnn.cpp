// rnn.cpp — RNN: h = f(W x + R h + Wb + Rb). Until version 7 output_sequence only said whether Y is
// wanted; 14 added layout, 22 bfloat16. Saved for the derivative: the inputs of f.
// RNNGrad (ai.ondine): see RecurrentGradInput.
#include <array>

#include "kernels/common/op.h"
#include "kernels/recurrent/direct_recurrence.h"
#include "kernels/recurrent/recurrent_gradient.h"
#include "kernels/recurrent/recurrent_implementation.h"
#include "kernels/recurrent/recurrent_infer.h"

namespace ondine::kernels::ops {
namespace {

constexpr std::array<std::string_view, 1> default_activations{"Tanh"};
constexpr CellTraits cell_traits{
    .gates = 1, .saved_gates = 1, .cell_state = false, .activations = default_activations};

template <class C>
struct RnnCell {
  using Element = C;
  static constexpr CellTraits traits = cell_traits;

  class Forward : public DirectForward<C> {
   public:
    using DirectForward<C>::DirectForward;
    void step(const ForwardStep<C>& step, const C* r) const {
      this->add_products(step, r);
      step.finish([&](const ForwardRow<C>& row) {
        this->s_.activation(step.d, 0).apply(row.gates, row.h, this->s_.hidden_size);
      });
    }
  };

  class Backward : public DirectBackward<C, 1> {
   public:
    static constexpr bool adds_dy = false;
    Backward(BindContext& context, Scratch& scratch, const Recurrence& s)
        : DirectBackward<C, 1>(context, scratch, s),
          h_(scratch.add<C>(s.batch_size * s.hidden_size)) {}
    void cell(const BackwardStep<C>& step, const BackwardRow<C>& row) const {
      const std::int64_t n = this->s_.hidden_size;
      const CellActivation& f = this->s_.activation(step.d, 0);
      C* h = Scratch::at<C>(step.args.call, h_) + row.b * n;
      f.apply(row.gates, h, n);
      f.gradient(row.gates, h, row.dh, row.dgates, n);
    }

   private:
    std::size_t h_;
  };
};

void unrolled_step(const UnrolledCell& cell, Val gates, UnrolledState& state) {
  gates = gates + graph::matmul(state.h, cell.r);
  if (cell.r_bias) gates = gates + cell.r_bias;
  state.h = activate(cell.s.activation(cell.d, 0), gates);
}

constexpr RecurrentEntry forward[] = {
    {"general", math::supports_any, make_recurrent<ForwardDriver, RnnCell>}};
constexpr RecurrentEntry backward[] = {
    {"general", math::supports_any, make_recurrent<BackwardDriver, RnnCell>}};

void infer(InferContext& context) { infer_recurrent(context, cell_traits); }
void infer_grad(InferContext& context) { infer_recurrent_grad(context, cell_traits); }
Kernel bind(BindContext& context) { return bind_recurrent(context, cell_traits, forward); }
Kernel bind_grad(BindContext& context) { return bind_recurrent(context, cell_traits, backward); }
std::vector<Val> grad(GradContext& g) { return recurrent_gradient(g, cell_traits); }
std::vector<Val> grad_of_grad(GradContext& g) {
  return recurrent_second_gradient(g, cell_traits, unrolled_step);
}

std::vector<Val> expand(ExpandContext& context) {
  return unroll(context, cell_traits, unrolled_step);
}

}  // namespace

extern const OpDef rnn{.name = "RNN", .infer = infer, .bind = bind, .grad = grad, .expand = expand};
extern const OpDef rnn_grad{.name = "RNNGrad",
                            .domain = ondine_domain,
                            .infer = infer_grad,
                            .bind = bind_grad,
                            .grad = grad_of_grad};

}  // namespace ondine::kernels::ops
