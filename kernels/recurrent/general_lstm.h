// The cell of LSTM with any activations, peepholes and input_forget. Gates in the order input i,
// output o, forget f, cell g.
#pragma once

#include <array>

#include "kernels/recurrent/direct_recurrence.h"

namespace ondine::kernels {

inline constexpr std::array<std::string_view, 3> lstm_activations{"Sigmoid", "Tanh", "Tanh"};
inline constexpr CellTraits lstm_traits{
    .gates = 4, .saved_gates = 4, .cell_state = true, .activations = lstm_activations};

// The activation between c and h. `clip` bounds the inputs of the gates alone.
inline CellActivation lstm_output_activation(const Recurrence& s, std::int64_t d) {
  CellActivation result = s.activation(d, 2);
  result.clip = 0;
  return result;
}

// nullptr without peepholes; of the gates i, o and f.
template <class Args>
const auto* lstm_peepholes(const Recurrence& s, const Args& args, std::int64_t d) {
  return args.p == nullptr ? nullptr : args.p + d * 3 * s.hidden_size;
}

// One sample in one step: z, the inputs of the gates, and the state before. `active`: memory for
// the four gates. `peephole` may be null.
template <class C>
void general_lstm_cell(const Recurrence& s, std::int64_t d, const C* peephole, C* active,
                       const ForwardRow<C>& row) {
  const std::int64_t n = s.hidden_size;
  const CellActivation& f = s.activation(d, 0);
  C* in = active;
  C* out = active + n;
  C* forget = active + 2 * n;
  C* cell = active + 3 * n;
  C *z = row.gates, *h = row.h, *c = row.c;
  for (std::int64_t i = 0; peephole != nullptr && i < n; ++i) {
    z[i] += peephole[i] * c[i];
    z[2 * n + i] += peephole[2 * n + i] * c[i];
  }
  f.apply(z, in, n);
  f.apply(z + 2 * n, forget, n);
  s.activation(d, 1).apply(z + 3 * n, cell, n);
  for (std::int64_t i = 0; i < n; ++i) {
    const C keep = s.input_forget ? 1 - in[i] : forget[i];
    c[i] = keep * c[i] + in[i] * cell[i];
    if (peephole != nullptr) z[n + i] += peephole[n + i] * c[i];
  }
  f.apply(z + n, out, n);
  lstm_output_activation(s, d).apply(c, h, n);
  for (std::int64_t i = 0; i < n; ++i) h[i] *= out[i];
}

template <class C>
class LstmForward : public DirectForward<C> {
 public:
  LstmForward(graph::BindContext& context, Scratch& scratch, const Recurrence& s)
      : DirectForward<C>(context, scratch, s),
        rows_(scratch.add<C>(s.batch_size * 4 * s.hidden_size)) {}

  void step(const ForwardStep<C>& step, const C* r) const {
    this->add_products(step, r);
    const C* const peephole = lstm_peepholes(this->s_, step.args, step.d);
    C* const active = Scratch::at<C>(step.args.call, rows_);
    step.finish([&](const ForwardRow<C>& row) {
      general_lstm_cell(this->s_, step.d, peephole, active + row.b * 4 * this->s_.hidden_size, row);
    });
  }

 private:
  std::size_t rows_;  // the four gates of each sample
};

// The part of the derivative that LSTM cells share; a derived class adds the cell itself.
template <class C>
class LstmBackwardBase : public DirectBackward<C, 4> {
 public:
  LstmBackwardBase(graph::BindContext& context, Scratch& scratch, const Recurrence& s)
      : DirectBackward<C, 4>(context, scratch, s),
        initial_(scratch.add<C>(s.batch_size * s.hidden_size)) {}

  void add_peephole_gradient(const BackwardStep<C>& step, C* dp) const {
    const std::int64_t n = this->s_.hidden_size;
    for (std::int64_t b = step.first; b < step.last; ++b) {
      const C* c = step.cells(b);
      const C* previous = previous_cells(step, b);
      const C* dgates = step.dgates(b);
      for (std::int64_t k = 0; k < n; ++k) {
        dp[k] += dgates[k] * previous[k];
        dp[n + k] += dgates[n + k] * c[k];
        dp[2 * n + k] += dgates[2 * n + k] * previous[k];
      }
    }
  }

 protected:
  const C* previous_cells(const BackwardStep<C>& step, std::int64_t b) const {
    C* memory = Scratch::at<C>(step.args.call, initial_) + b * this->s_.hidden_size;
    return step.previous_cells(b, memory);
  }

 private:
  std::size_t initial_;
};

template <class C>
class LstmBackward : public LstmBackwardBase<C> {
 public:
  static constexpr bool adds_dy = false;

  LstmBackward(graph::BindContext& context, Scratch& scratch, const Recurrence& s)
      : LstmBackwardBase<C>(context, scratch, s),
        rows_(scratch.add<C>(s.batch_size * 5 * s.hidden_size)) {}

  void cell(const BackwardStep<C>& step, const BackwardRow<C>& row) const {
    const std::int64_t n = this->s_.hidden_size;
    const Rows rows = activate(step, row);
    const C* previous = this->previous_cells(step, row.b);
    C *dc = row.dc, *g = row.dgates;
    const C* peephole = lstm_peepholes(this->s_, step.args, step.d);
    through_output(step, row, rows);
    // dgates first holds the derivatives with respect to the activated gates.
    for (std::int64_t k = 0; k < n; ++k) {
      if (peephole != nullptr) dc[k] += peephole[n + k] * g[n + k];
      const bool tied = this->s_.input_forget;
      const C keep = tied ? 1 - rows.in[k] : rows.forget[k];
      const C by_forget = dc[k] * previous[k];
      g[k] = dc[k] * rows.cell[k] - (tied ? by_forget : C{0});
      g[2 * n + k] = tied ? C{0} : by_forget;
      g[3 * n + k] = dc[k] * rows.in[k];
      dc[k] *= keep;
    }
    const CellActivation& f = this->s_.activation(step.d, 0);
    f.gradient(row.gates, rows.in, g, g, n);
    f.gradient(row.gates + 2 * n, rows.forget, g + 2 * n, g + 2 * n, n);
    this->s_.activation(step.d, 1).gradient(row.gates + 3 * n, rows.cell, g + 3 * n, g + 3 * n, n);
    for (std::int64_t k = 0; peephole != nullptr && k < n; ++k) {
      dc[k] += peephole[k] * g[k] + peephole[2 * n + k] * g[2 * n + k];
    }
  }

 private:
  struct Rows {
    C *in, *out, *forget, *cell, *output;  // output: the activation of c
  };

  Rows activate(const BackwardStep<C>& step, const BackwardRow<C>& row) const {
    const std::int64_t n = this->s_.hidden_size;
    const CellActivation& f = this->s_.activation(step.d, 0);
    C* at = Scratch::at<C>(step.args.call, rows_) + row.b * 5 * n;
    const Rows rows{at, at + n, at + 2 * n, at + 3 * n, at + 4 * n};
    f.apply(row.gates, rows.in, n);
    f.apply(row.gates + n, rows.out, n);
    f.apply(row.gates + 2 * n, rows.forget, n);
    this->s_.activation(step.d, 1).apply(row.gates + 3 * n, rows.cell, n);
    lstm_output_activation(this->s_, step.d).apply(step.cells(row.b), rows.output, n);
    return rows;
  }

  // h = o output(c): dc, and the derivative with respect to the input of o.
  void through_output(const BackwardStep<C>& step, const BackwardRow<C>& row,
                      const Rows& rows) const {
    const std::int64_t n = this->s_.hidden_size;
    C *dc = row.dc, *g = row.dgates;
    for (std::int64_t k = 0; k < n; ++k) g[k] = row.dh[k] * rows.out[k];
    lstm_output_activation(this->s_, step.d).gradient(step.cells(row.b), rows.output, g, g, n);
    for (std::int64_t k = 0; k < n; ++k) {
      dc[k] += g[k];
      g[n + k] = row.dh[k] * rows.output[k];
    }
    this->s_.activation(step.d, 0).gradient(row.gates + n, rows.out, g + n, g + n, n);
  }

  std::size_t rows_;
};

template <class C>
struct LstmCell {
  using Element = C;
  static constexpr CellTraits traits = lstm_traits;
  using Forward = LstmForward<C>;
  using Backward = LstmBackward<C>;
};

}  // namespace ondine::kernels
