// What RNN, GRU and LSTM share: extents, activations, and the walk over the steps.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"
#include "graph/contract/ops.h"
#include "kernels/elementwise/vector.h"
#include "kernels/matmul/gemm_primitive.h"

namespace ondine::kernels {

// f(x) and its derivative on rows; x is the input of f. `alpha` and `beta` as in the operators of
// the same names.
struct CellActivation {
  enum class Kind : std::uint8_t {
    sigmoid,
    tanh,
    relu,
    affine,
    leaky_relu,
    thresholded_relu,
    scaled_tanh,
    hard_sigmoid,
    elu,
    softsign,
    softplus,
  };
  Kind kind = Kind::sigmoid;
  double alpha = 0;
  double beta = 0;
  double clip = 0;  // of x, 0: none

  template <class C>
  void apply(const C* x, C* y, std::int64_t n) const;
  // dx = dy f'(x), zero where x is clipped; y = f(x). dx may be dy.
  template <class C>
  void gradient(const C* x, const C* y, const C* dy, C* dx, std::int64_t n) const;
};

// Attributes and extents of a recurrent node. Inputs X, W, R, B, sequence_lens, initial_h (LSTM:
// initial_c, P). Error(mismatch) for what does not fit.
struct Recurrence {
  std::int64_t gates = 1;
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t input = 0;
  std::int64_t hidden = 0;
  std::int64_t directions = 1;
  bool reverse = false;      // the only direction runs backwards
  bool batch_first = false;  // layout 1
  bool linear_before_reset = false;
  bool input_forget = false;
  bool peepholes = false;
  std::vector<CellActivation> activations;  // of the first direction, then of the second

  std::int64_t rows() const noexcept { return steps * batch; }
  std::int64_t width() const noexcept { return gates * hidden; }
  // The place of (step, sample) in the memory order of X.
  std::int64_t row(std::int64_t t, std::int64_t b) const noexcept {
    return batch_first ? b * steps + t : t * batch + b;
  }
  // Offsets of the hidden values in Y, and in Y_h, Y_c and their initial values.
  std::int64_t y(std::int64_t d, std::int64_t t, std::int64_t b) const noexcept {
    return (batch_first ? (b * steps + t) * directions + d : (t * directions + d) * batch + b) *
           hidden;
  }
  std::int64_t state(std::int64_t d, std::int64_t b) const noexcept {
    return (batch_first ? b * directions + d : d * batch + b) * hidden;
  }
  bool backwards(std::int64_t d) const noexcept { return reverse || d == 1; }
  // The step that is computed i-th.
  std::int64_t step(std::int64_t d, std::int64_t i) const noexcept {
    return backwards(d) ? steps - 1 - i : i;
  }
  // Whether math::CellKernels have this cell. Z then keeps the gates in place of their inputs.
  bool is_standard_lstm() const;
  // Samples do not depend on each other: each piece of this many goes through all steps on one
  // thread, unless R is so large that every step should read it for the whole batch.
  std::int64_t piece() const noexcept;
  std::int64_t pieces() const noexcept { return (batch + piece() - 1) / piece(); }
  bool packs() const noexcept { return small(hidden) && piece() > 3; }
  // Whether a matrix of the gates with so many columns stays in a second cache.
  bool small(std::int64_t columns) const noexcept {
    return columns <= (std::int64_t{1} << 18) / std::max<std::int64_t>(1, width());
  }
  // The derivatives of so many steps are multiplied at once, while they are in a second cache.
  std::int64_t block_steps() const noexcept {
    constexpr std::int64_t rows = 192;
    if (batch_first) return std::max<std::int64_t>(1, steps);
    return std::max<std::int64_t>(1, rows / std::max<std::int64_t>(1, batch));
  }
  // Between the rows of two samples of one step, in rows of X.
  std::int64_t sample_stride() const noexcept { return batch_first ? steps : 1; }
  const CellActivation& activation(std::int64_t d, std::size_t i) const {
    return activations[static_cast<std::size_t>(d) * activations.size() /
                           static_cast<std::size_t>(directions) +
                       i];
  }
};

// Number of gates by the operator's name: 1, 3 or 4.
std::int64_t gates_of(const graph::NodeView& node);
// For binding: the shapes of X and R give the extents.
Recurrence read_recurrence(const graph::NodeView& node, const Shape& x, const Shape& r);
// Checks attributes and inputs, sets the outputs Y, Y_h, Y_c and what is kept for the derivative:
// after the operator's own outputs, Z, the inputs of the gates' activations
// (Recurrence::is_standard_lstm: their results) [directions, rows, saved * hidden], and for LSTM
// the cells [directions, rows, hidden].
void infer_recurrent(graph::InferContext& context);
std::int64_t saved_width(const graph::NodeView& node);

// Expansion into one cell after the other, for derivatives of higher order; the number of steps
// must be known.
std::vector<graph::Val> unroll(graph::ExpandContext& context);

}  // namespace ondine::kernels
