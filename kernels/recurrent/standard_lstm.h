// The cell of LSTM with its default activations and neither clip, peepholes nor input_forget, in
// one pass over a row. Keeps the gates in place of their inputs.
#pragma once

#include "kernels/recurrent/general_lstm.h"
#include "kernels/recurrent/lstm_cell.h"
#include "kernels/recurrent/recurrent_unroll.h"

namespace ondine::kernels {

bool is_standard_lstm(const Recurrence& s);

// A step of graph nodes; R multiplies h, which need not be that of the state.
void unrolled_lstm_step(const UnrolledCell& cell, graph::Val gates, UnrolledState& state,
                        graph::Val h);

template <class C>
class StandardLstmForward : public DirectForward<C> {
 public:
  using DirectForward<C>::DirectForward;
  void step(const ForwardStep<C>& step, const C* r) const {
    this->add_products(step, r);
    step.finish([&](const ForwardRow<C>& row) {
      math::cell_kernels<C>().lstm(row.gates, row.c, row.h, this->s_.hidden_size);
    });
  }
};

template <class C>
class StandardLstmBackward : public LstmBackwardBase<C> {
 public:
  static constexpr bool adds_dy = true;
  using LstmBackwardBase<C>::LstmBackwardBase;

  void cell(const BackwardStep<C>& step, const BackwardRow<C>& row) const {
    math::LstmGradient<C> cell{.n = this->s_.hidden_size,
                               .z = row.gates,
                               .old = this->previous_cells(step, row.b),
                               .c = step.cells(row.b),
                               .dh = row.dh,
                               .dy = step.dy(row.b),
                               .dc = row.dc,
                               .dz = row.dgates};
    if (step.i > 0) {
      cell.next_z = step.gates(row.b, step.i - 1);
      cell.next_dy = step.dy(row.b, step.i - 1);
    }
    if (step.i > 1) cell.next_old = step.cells(row.b, step.i - 2);
    math::cell_kernels<C>().lstm_gradient(cell);
  }
};

template <class C>
struct StandardLstmCell {
  using Element = C;
  static constexpr CellTraits traits = lstm_traits;
  using Forward = StandardLstmForward<C>;
  using Backward = StandardLstmBackward<C>;
};

}  // namespace ondine::kernels
