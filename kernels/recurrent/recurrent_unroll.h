// Recurrent operators as nodes of a graph: for second derivatives and for models of standard
// operators. As many steps as the dims of X tell are written one after the other; where only a run
// knows their number they are iterations of a Loop.
#pragma once

#include "graph/contract/ops.h"
#include "kernels/recurrent/recurrence.h"

namespace ondine::kernels {

// Operands of a direction. R is transposed; the bias and the peepholes may be absent.
struct UnrolledCell {
  const Recurrence& s;
  std::int64_t d;
  graph::Val r, r_bias, peepholes;
  graph::Val hidden_size;   // int64 vector of one element, where s.hidden_size is 0
  graph::Val now, lengths;  // the number of the step and sequence_lens, where that is given

  // The columns of gate k, or of the gates from `first` to before `last`.
  graph::Val gate(graph::Val v, std::int64_t k) const { return gates(v, k, k + 1); }
  graph::Val gates(graph::Val v, std::int64_t first, std::int64_t last) const;
};
struct UnrolledState {
  graph::Val h, c;
};
// `gates`: X W with its bias. Replaces the state.
using UnrolledStep = void (*)(const UnrolledCell& cell, graph::Val gates, UnrolledState& state);

graph::Val activate(const CellActivation& f, graph::Val x);

// Y, Y_h and, with a cell state, Y_c.
std::vector<graph::Val> unroll(graph::ExpandContext& context, const CellTraits& cell,
                               UnrolledStep step);

}  // namespace ondine::kernels
