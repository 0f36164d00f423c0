// Inputs and outputs of RNNGrad, GRUGrad and LSTMGrad.
#pragma once

#include <algorithm>

#include "kernels/common/compute_type.h"
#include "kernels/recurrent/recurrence.h"

namespace ondine::kernels {

// The operands of one call, in the type that is computed in; nullptr where one is absent.
template <class C>
struct BackwardArgs {
  graph::KernelContext& call;
  const C *x, *w, *r, *initial_h, *initial_c, *p;
  const std::int32_t* sequence_lens;
  const C *y, *gates, *cells, *dy, *dy_h, *dy_c;
  C *dx, *dw, *dr, *db, *dinitial_h, *dinitial_c, *dp;
};

// A row of hidden values at `offset`, zeros without a state.
template <class C>
void load_state(const Recurrence& s, const C* state, std::int64_t offset, C* to) {
  if (state == nullptr) {
    std::fill_n(to, s.hidden_size, C{0});
  } else {
    std::copy_n(state + offset, s.hidden_size, to);
  }
}

template <class C>
class BackwardOperands {
 public:
  BackwardOperands(const graph::BindContext& context, Scratch& scratch, const Recurrence& s)
      : x_(context, scratch, In::x),
        w_(context, scratch, In::w),
        r_(context, scratch, In::r),
        initial_h_(context, scratch, In::initial_h),
        initial_c_(context, scratch, In::initial_c),
        p_(context, scratch, In::p),
        y_(context, scratch, GradIn::y),
        gates_(context, scratch, GradIn::gates),
        cells_(context, scratch, GradIn::cells),
        dy_(context, scratch, GradIn::dy),
        dy_h_(context, scratch, GradIn::dy_h),
        dy_c_(context, scratch, GradIn::dy_c),
        dx_(context, scratch, Out::dx, s.rows() * s.input_size),
        dw_(context, scratch, Out::dw, s.directions * s.width() * s.input_size),
        dr_(context, scratch, Out::dr, s.directions * s.width() * s.hidden_size),
        db_(context, scratch, Out::db, s.directions * s.width() * 2),
        dinitial_h_(context, scratch, Out::dinitial_h, state_size(s)),
        dinitial_c_(context, scratch, Out::dinitial_c, state_size(s)),
        dp_(context, scratch, Out::dp, s.directions * s.hidden_size * 3),
        has_lengths_(context.has_input(In::sequence_lens)) {}

  BackwardArgs<C> load(graph::KernelContext& call) const {
    return {.call = call,
            .x = x_(call),
            .w = w_(call),
            .r = r_(call),
            .initial_h = initial_h_(call),
            .initial_c = initial_c_(call),
            .p = p_(call),
            .sequence_lens = has_lengths_ ? call.in<std::int32_t>(In::sequence_lens) : nullptr,
            .y = y_(call),
            .gates = gates_(call),
            .cells = cells_(call),
            .dy = dy_(call),
            .dy_h = dy_h_(call),
            .dy_c = dy_c_(call),
            .dx = dx_.data(call),
            .dw = dw_.data(call),
            .dr = dr_.data(call),
            .db = db_.data(call),
            .dinitial_h = dinitial_h_.data(call),
            .dinitial_c = dinitial_c_.data(call),
            .dp = dp_.data(call)};
  }
  void store(graph::KernelContext& call) const {
    for (const auto* out : {&dx_, &dw_, &dr_, &db_, &dinitial_h_, &dinitial_c_, &dp_}) {
      out->store(call);
    }
  }

 private:
  using In = RecurrentInput;
  using GradIn = RecurrentGradInput;
  using Out = RecurrentGradOutput;

  static std::int64_t state_size(const Recurrence& s) {
    return s.directions * s.batch_size * s.hidden_size;
  }

  ComputeIn<C> x_, w_, r_, initial_h_, initial_c_, p_, y_, gates_, cells_, dy_, dy_h_, dy_c_;
  ComputeOut<C> dx_, dw_, dr_, db_, dinitial_h_, dinitial_c_, dp_;
  bool has_lengths_;
};

}  // namespace ondine::kernels
