// Derivatives of the cells of GRU and LSTM with any activations, a row of n hidden values at a
// time.
#pragma once

#include <algorithm>

#include "kernels/recurrent/recurrent_attributes.h"

namespace ondine::kernels {

// g = the derivatives by the inputs z of i, o, f, g; old and c are the cell before and after, dc
// the derivative by c and then that by old. peephole: of i, o, f, or null; `rows`: memory for 5 n.
template <class C>
void lstm_cell_gradient(const Recurrence& s, std::int64_t d, const C* z, const C* old, const C* c,
                        const C* peephole, const C* dh, C* dc, C* g, C* rows) {
  const std::int64_t n = s.hidden;
  C* in = rows;
  C* out = in + n;
  C* forget = in + 2 * n;
  C* cell = in + 3 * n;
  C* shown = in + 4 * n;
  const CellActivation& f = s.activation(d, 0);
  CellActivation last = s.activation(d, 2);
  last.clip = 0;
  f.apply(z, in, n);
  f.apply(z + n, out, n);
  f.apply(z + 2 * n, forget, n);
  s.activation(d, 1).apply(z + 3 * n, cell, n);
  last.apply(c, shown, n);
  // g first takes the derivatives by the gates, in Z's order.
  for (std::int64_t k = 0; k < n; ++k) g[k] = dh[k] * out[k];
  last.gradient(c, shown, g, g, n);
  for (std::int64_t k = 0; k < n; ++k) {
    dc[k] += g[k];
    g[n + k] = dh[k] * shown[k];
  }
  f.gradient(z + n, out, g + n, g + n, n);
  for (std::int64_t k = 0; k < n; ++k) {
    if (peephole != nullptr) dc[k] += peephole[n + k] * g[n + k];
    const C keep = s.input_forget ? 1 - in[k] : forget[k];
    const C by_forget = dc[k] * old[k];
    g[k] = dc[k] * cell[k] - (s.input_forget ? by_forget : C{0});
    g[2 * n + k] = s.input_forget ? C{0} : by_forget;
    g[3 * n + k] = dc[k] * in[k];
    dc[k] *= keep;
  }
  f.gradient(z, in, g, g, n);
  f.gradient(z + 2 * n, forget, g + 2 * n, g + 2 * n, n);
  s.activation(d, 1).gradient(z + 3 * n, cell, g + 3 * n, g + 3 * n, n);
  for (std::int64_t k = 0; peephole != nullptr && k < n; ++k) {
    dc[k] += peephole[k] * g[k] + peephole[2 * n + k] * g[2 * n + k];
  }
}

// g = the derivatives by the inputs z of the gates, `rest` what reaches h past R: through the
// update gate. Without linear_before_reset the reset gate is left out. h is the state before;
// `gates` receives update, reset and candidate.
template <class C>
void gru_cell_gradient(const Recurrence& s, std::int64_t d, const C* z, const C* h, const C* dh,
                       C* g, C* rest, C* gates) {
  const std::int64_t n = s.hidden;
  C* update = gates;
  C* reset = update + n;
  C* candidate = update + 2 * n;
  const CellActivation& f = s.activation(d, 0);
  f.apply(z, update, n);
  f.apply(z + n, reset, n);
  s.activation(d, 1).apply(z + 2 * n, candidate, n);
  for (std::int64_t k = 0; k < n; ++k) {
    g[k] = dh[k] * (h[k] - candidate[k]);
    g[2 * n + k] = dh[k] * (1 - update[k]);
    rest[k] = dh[k] * update[k];
  }
  f.gradient(z, update, g, g, n);
  s.activation(d, 1).gradient(z + 2 * n, candidate, g + 2 * n, g + 2 * n, n);
  if (!s.linear_before_reset) return;
  for (std::int64_t k = 0; k < n; ++k) {
    g[n + k] = g[2 * n + k] * z[3 * n + k];
    g[3 * n + k] = g[2 * n + k] * reset[k];
  }
  f.gradient(z + n, reset, g + n, g + n, n);
}

}  // namespace ondine::kernels
