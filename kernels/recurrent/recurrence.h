// RNN, GRU and LSTM over a sequence, and backpropagation through time for their derivatives.
//
// Operators: RNN, GRU, LSTM; RNNGrad, GRUGrad, LSTMGrad (ai.ondine). An operator's file holds its
// cell, a policy with which ForwardDriver and BackwardDriver walk over the sequence:
//   traits                the numbers of gates and states that the drivers need
//   Forward, Backward     the products with R of one step and the cells of its samples
//   a step of graph nodes, for second derivatives
// Implementations, in the order in which they are tried:
//   LSTM      fused (fused_lstm.h), standard (standard_lstm.h), general (general_lstm.h)
//   LSTMGrad  standard, general
//   others    general
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "graph/contract/node_view.h"
#include "kernels/recurrent/cell_activation.h"

namespace ondine::kernels {

struct CellTraits {
  std::int64_t gates;        // blocks of hidden_size rows in W and R
  std::int64_t saved_gates;  // blocks of hidden_size values saved for the derivative
  bool cell_state;           // initial_c, Y_c and the cells of all steps
  std::span<const std::string_view> activations;  // default ones of a direction
};

// Positions of inputs and outputs.
struct RecurrentInput {
  enum : std::size_t { x, w, r, b, sequence_lens, initial_h, initial_c, p, count };
};
struct RecurrentGradInput {  // after those of the operator
  enum : std::size_t { y = RecurrentInput::count, gates, cells, dy, dy_h, dy_c, count };
};
struct RecurrentGradOutput {
  enum : std::size_t { dx, dw, dr, db, dinitial_h, dinitial_c, dp, count };
};
// The outputs of the standard, then those that are saved for the derivative.
struct RecurrentOutput {
  explicit constexpr RecurrentOutput(const CellTraits& cell)
      : y_c(cell.cell_state ? 2 : absent),
        gates(cell.cell_state ? 3 : 2),
        cells(cell.cell_state ? 4 : absent) {}
  static constexpr std::size_t absent = ~std::size_t{0};
  static constexpr std::size_t y = 0;
  static constexpr std::size_t y_h = 1;
  std::size_t y_c, gates, cells;
};

// Attributes and sizes of a recurrent node. A row is one step of one sample.
struct Recurrence {
  CellTraits cell{};
  std::int64_t sequence_length = 0;
  std::int64_t batch_size = 0;
  std::int64_t input_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t directions = 1;
  bool reverse = false;      // the only direction runs backwards
  bool batch_first = false;  // layout 1
  bool linear_before_reset = false;
  bool input_forget = false;
  bool peepholes = false;
  std::vector<CellActivation> activations;  // of the first direction, then of the second

  std::int64_t rows() const noexcept { return sequence_length * batch_size; }
  std::int64_t width() const noexcept { return cell.gates * hidden_size; }
  std::int64_t saved_width() const noexcept { return cell.saved_gates * hidden_size; }
  // Position of (step, sample) in the memory order of X.
  std::int64_t row(std::int64_t t, std::int64_t b) const noexcept {
    return batch_first ? b * sequence_length + t : t * batch_size + b;
  }
  // Between the rows of two samples of one step.
  std::int64_t sample_stride() const noexcept { return batch_first ? sequence_length : 1; }
  // Between the saved gates of two samples of one step.
  std::int64_t gates_stride() const noexcept { return sample_stride() * saved_width(); }
  // Offsets of the hidden values in Y, and in Y_h, Y_c and their initial values.
  std::int64_t y_offset(std::int64_t d, std::int64_t t, std::int64_t b) const noexcept {
    return (batch_first ? (b * sequence_length + t) * directions + d
                        : (t * directions + d) * batch_size + b) *
           hidden_size;
  }
  std::int64_t state_offset(std::int64_t d, std::int64_t b) const noexcept {
    return (batch_first ? b * directions + d : d * batch_size + b) * hidden_size;
  }
  bool runs_backwards(std::int64_t d) const noexcept { return reverse || d == 1; }
  // The step that is computed i-th.
  std::int64_t step(std::int64_t d, std::int64_t i) const noexcept {
    return runs_backwards(d) ? sequence_length - 1 - i : i;
  }
  const CellActivation& activation(std::int64_t d, std::size_t i) const {
    const std::size_t each = activations.size() / static_cast<std::size_t>(directions);
    return activations[static_cast<std::size_t>(d) * each + i];
  }

  // Samples do not depend on each other: each chunk of this many goes through all steps on one
  // thread, unless R is so large that every step should read it for the whole batch.
  std::int64_t batch_chunk() const noexcept;
  std::int64_t chunks() const noexcept { return (batch_size + batch_chunk() - 1) / batch_chunk(); }
  // Whether R is packed once for all steps.
  bool packs() const noexcept { return fits_l2(hidden_size) && batch_chunk() > 3; }
  // Whether a matrix of the gates with so many columns stays in the L2 cache.
  bool fits_l2(std::int64_t columns) const noexcept {
    return columns <= (std::int64_t{1} << 18) / std::max<std::int64_t>(1, width());
  }
  // This many steps form a block, whose derivatives are multiplied at once while they are in the L2
  // cache.
  std::int64_t block_steps() const noexcept;
};

// Whether the attribute direction runs the only direction backwards, and the number of directions.
// Error(invalid_model) for an unknown one.
struct Directions {
  explicit Directions(const graph::NodeView& node);
  std::int64_t count = 1;
  bool reverse = false;
};

// When an operator is bound: the shapes of X and R give the sizes.
Recurrence read_recurrence(const graph::NodeView& node, const CellTraits& cell, const Shape& x,
                           const Shape& r);

// Checks sequence_lens, one for each sample. Error(mismatch) for a negative length or one above
// that of X.
void check_lengths(const Recurrence& s, const std::int32_t* lengths);

}  // namespace ondine::kernels
