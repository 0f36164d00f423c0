// Recurrent operators as nodes of a graph, one step after the other: for second derivatives and for
// models of standard operators.
#pragma once

#include "graph/contract/ops.h"
#include "kernels/recurrent/recurrence.h"

namespace ondine::kernels {

// Operands of a direction. R is transposed; the bias and the peepholes may be absent.
struct UnrolledCell {
  const Recurrence& s;
  std::int64_t d;
  graph::Val r, r_bias, peepholes;

  // The columns of gate k.
  graph::Val gate(graph::Val v, std::int64_t k) const {
    return graph::slice(v, k * s.hidden_size, (k + 1) * s.hidden_size, -1);
  }
};
struct UnrolledState {
  graph::Val h, c;
};
// `gates`: X W with its bias. Replaces the state.
using UnrolledStep = void (*)(const UnrolledCell& cell, graph::Val gates, UnrolledState& state);

graph::Val activate(const CellActivation& f, graph::Val x);

// Y, Y_h and, with a cell state, Y_c. Error(unsupported) when the shapes of R and, but for the
// batch, of X are not known or X is empty.
std::vector<graph::Val> unroll(graph::ExpandContext& context, const CellTraits& cell,
                               UnrolledStep step);

}  // namespace ondine::kernels
