// Runs RNN, GRU and LSTM over the sequence.
#pragma once

#include "kernels/recurrent/forward_operands.h"
#include "kernels/recurrent/step_product.h"

namespace ondine::kernels {

// One sample in one step. In: x W + the biases, and the state before. Out: the gates as they are
// saved for the derivative, and the state after.
template <class C>
struct ForwardRow {
  std::int64_t b;
  C *gates, *h, *c;
};

// Step t of the samples [first, last), a chunk of the batch.
template <class C>
class ForwardStep {
 public:
  ForwardStep(const Recurrence& s, const ForwardArgs<C>& operands, const CellState<C>& state,
              std::int64_t direction, std::int64_t t, std::int64_t from, std::int64_t to)
      : args(operands), d(direction), first(from), last(to), s_(s), state_(state), t_(t) {}

  std::int64_t samples() const { return last - first; }
  C* gates(std::int64_t b) const {
    return args.gates + (d * s_.rows() + s_.row(t_, b)) * s_.saved_width();
  }
  C* h(std::int64_t b) const { return state_.h + b * s_.hidden_size; }
  C* c(std::int64_t b) const { return state_.c + b * s_.hidden_size; }

  // cell(row) for every sample, also those whose sequence has ended.
  template <class Cell>
  void for_rows(Cell&& cell) const {
    const std::int64_t grain =
        std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, s_.width()));
    args.call.pool().for_chunks(samples(), grain, [&](std::int64_t begin, std::int64_t end) {
      for (auto b = first + begin; b < first + end; ++b) {
        cell(ForwardRow<C>{b, gates(b), h(b), c(b)});
      }
    });
  }

  // cell(row) for the samples whose sequence has not ended, which completes the step: writes Y and
  // the cells.
  template <class Cell>
  void finish(Cell&& cell) const {
    for_rows([&](const ForwardRow<C>& row) {
      const std::int64_t n = s_.hidden_size;
      const bool valid = args.sequence_lens == nullptr || t_ < args.sequence_lens[row.b];
      if (valid) cell(row);
      if (args.y != nullptr) {
        C* y = args.y + s_.y_offset(d, t_, row.b);
        if (valid) {
          std::copy_n(row.h, n, y);
        } else {
          std::fill_n(y, n, C{0});
        }
      }
      if (s_.cell.cell_state) {
        std::copy_n(row.c, n, args.cells + (d * s_.rows() + s_.row(t_, row.b)) * n);
      }
    });
  }

  const ForwardArgs<C>& args;
  const std::int64_t d, first, last;

 private:
  const Recurrence& s_;
  const CellState<C>& state_;
  std::int64_t t_;
};

// Cell::Forward:
//   r_bias_columns()    columns of R's bias that are added to X W
//   prepare(args, d)    the weights that the steps of a direction multiply with
//   step(step, weights) adds the products with R and calls step.finish
template <class Cell>
class ForwardDriver {
  using C = typename Cell::Element;

 public:
  ForwardDriver(graph::BindContext& context, const Recurrence& s)
      : s_(s),
        operands_(context, scratch_, s),
        cell_(context, scratch_, s),
        stepwise_input_(s.packs() && s.fits_l2(s.input_size)),
        step_input_product_(context, scratch_, s,
                            {.n = stepwise_input_ ? s.width() : 0,
                             .k = s.input_size,
                             .lda = s.sample_stride() * s.input_size,
                             .ldc = s.gates_stride(),
                             .transposed = true}),
        input_product_({.m = stepwise_input_ ? 0 : s.rows(),
                        .n = s.width(),
                        .k = s.input_size,
                        .trans_b = true,
                        .ldc = s.saved_width()},
                       1, context.threads(), product_kernels(context)) {
    work_ = scratch_.add_bytes(input_product_.workspace());
    scratch_.request(context);
  }

  void operator()(graph::KernelContext& call) const {
    const ForwardArgs<C> args = operands_.load(call);
    for (std::int64_t d = 0; d < s_.directions; ++d) run(args, d);
    operands_.store(call);
  }

 private:
  void run(const ForwardArgs<C>& args, std::int64_t d) const {
    const CellState<C> state = operands_.initial_state(args, d);
    const C* bias = operands_.input_bias(args, d, cell_.r_bias_columns());
    const C* w = args.w + d * s_.width() * s_.input_size;
    const C* input_matrix = step_input_product_.prepare(args.call, w);
    if (!stepwise_input_) multiply_inputs(args, d, w, bias);
    const auto weights = cell_.prepare(args, d);
    const auto steps = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = 0; i < s_.sequence_length; ++i) {
        args.call.check_cancelled();
        const std::int64_t t = s_.step(d, i);
        const ForwardStep<C> step(s_, args, state, d, t, first, last);
        if (stepwise_input_) {
          step_input_product_.run(args.call, input_matrix, first, last - first,
                                  args.x + s_.row(t, first) * s_.input_size, step.gates(first),
                                  false, bias);
        }
        cell_.step(step, weights);
      }
    };
    args.call.pool().for_chunks(s_.batch_size, s_.batch_chunk(), steps);
    for (std::int64_t b = 0; b < s_.batch_size; ++b) {
      const std::int64_t offset = b * s_.hidden_size;
      operands_.store_state(args, d, b, state.h + offset, state.c + offset);
    }
  }

  // X W of all steps at once.
  void multiply_inputs(const ForwardArgs<C>& args, std::int64_t d, const C* w,
                       const C* bias) const {
    input_product_.run(args.call.pool(), {}, args.x, w,
                       args.gates + d * s_.rows() * s_.saved_width(), {.col_bias = bias},
                       Scratch::at<std::byte>(args.call, work_));
  }

  Scratch scratch_;
  Recurrence s_;
  ForwardOperands<C> operands_;
  typename Cell::Forward cell_;
  bool stepwise_input_;  // X W is computed in each step, not for all steps at once
  StepProduct<C> step_input_product_;
  math::GemmPrimitive<C> input_product_;  // of all steps
  std::size_t work_ = 0;
};

}  // namespace ondine::kernels
