// Backpropagation through time for RNN, GRU and LSTM.
#pragma once

#include "kernels/elementwise/vector.h"
#include "kernels/recurrent/backward_step.h"
#include "kernels/recurrent/step_product.h"

namespace ondine::kernels {

// From the last step to the first, in blocks of steps. The derivatives with respect to the gates of
// a block give its share of dW, dR, dB and dP, and its rows of dX.
//
// Cell::Backward:
//   direct_gates, bypasses_r    gates whose R multiplies h itself; whether part of h bypasses R
//   adds_dy                     cell() adds dY to dh
//   prepare(args, d)            the weights that the steps of a direction multiply with
//   cell(step, row)             the derivative of one cell
//   through_r(step, weights)    dh before the step from dgates, without the bypass
//   add_r_gradient(block, dr)
//   add_r_bias(sums, db)        from the sums of dgates over the rows of a block
//   add_peephole_gradient(step, dp), with a cell state
template <class Cell>
class BackwardDriver {
  using C = typename Cell::Element;
  using Backward = typename Cell::Backward;

 public:
  BackwardDriver(graph::BindContext& context, const Recurrence& s)
      : s_(s),
        operands_(context, scratch_, s),
        cell_(context, scratch_, s),
        kernels_(&product_kernels(context)) {
    const std::int64_t state = s.batch_size * s.hidden_size;
    const std::int64_t max_rows = std::min(s.block_steps(), s.sequence_length) * s.batch_size;
    dgates_ = scratch_.add<C>(max_rows * s.saved_width());
    previous_h_ = scratch_.add<C>(max_rows * s.hidden_size);
    sums_ = scratch_.add<C>(s.saved_width());
    dh_ = scratch_.add<C>(state);
    dc_ = scratch_.add<C>(state);
    bypass_ = scratch_.add<C>(state);
    for (const auto rows : {max_rows, s.sequence_length % s.block_steps() * s.batch_size}) {
      add_workspaces(rows, context.threads());
    }
    work_ = scratch_.add_bytes(work_bytes_);
    scratch_.request(context);
  }

  void operator()(graph::KernelContext& call) const {
    const BackwardArgs<C> args = operands_.load(call);
    for (std::int64_t d = 0; d < s_.directions; ++d) run(args, d);
    operands_.store(call);
  }

 private:
  // For the products of a block of so many rows.
  void add_workspaces(std::int64_t rows, int threads) {
    const auto add = [&](const math::GemmShape& shape) {
      work_bytes_ = std::max(work_bytes_, math::gemm_workspace<C>(shape, 1, threads, *kernels_));
    };
    const std::int64_t n = s_.hidden_size;
    add({.m = rows, .n = s_.input_size, .k = s_.width()});
    add({.m = s_.width(), .n = s_.input_size, .k = rows, .trans_a = true});
    add({.m = Backward::direct_gates * n, .n = n, .k = rows, .trans_a = true});
    add({.m = n, .n = n, .k = rows, .trans_a = true});
  }

  BackwardMemory<C> memory(graph::KernelContext& call) const {
    const auto at = [&](std::size_t offset) { return Scratch::at<C>(call, offset); };
    return {at(dh_), at(dc_), at(bypass_), at(dgates_), at(previous_h_)};
  }

  void run(const BackwardArgs<C>& args, std::int64_t d) const {
    const std::int64_t n = s_.hidden_size;
    const BackwardMemory<C> memory = this->memory(args.call);
    for (std::int64_t b = 0; b < s_.batch_size; ++b) {
      load_state(s_, args.dy_h, s_.state_offset(d, b), memory.dh + b * n);
      load_state(s_, args.dy_c, s_.state_offset(d, b), memory.dc + b * n);
    }
    const auto weights = cell_.prepare(args, d);
    std::int64_t last = s_.sequence_length;
    do {
      const std::int64_t first = std::max<std::int64_t>(0, last - s_.block_steps());
      const StepBlock block{first, last, s_.runs_backwards(d) ? s_.sequence_length - last : first};
      const auto steps = [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t i = last; i-- > first;) {
          args.call.check_cancelled();
          step(BackwardStep<C>(s_, args, memory, block, d, i, from, to), weights);
        }
      };
      args.call.pool().for_chunks(s_.batch_size, s_.batch_chunk(), steps);
      add_gradients(args, memory, block, d);
      last = first;
    } while (last > 0);
    for (std::int64_t b = 0; b < s_.batch_size; ++b) {
      const std::int64_t to = s_.state_offset(d, b);
      if (args.dinitial_h != nullptr) std::copy_n(memory.dh + b * n, n, args.dinitial_h + to);
      if (args.dinitial_c != nullptr) std::copy_n(memory.dc + b * n, n, args.dinitial_c + to);
    }
  }

  template <class Weights>
  void step(const BackwardStep<C>& step, const Weights& weights) const {
    const std::int64_t n = s_.hidden_size;
    const bool bypass = Backward::bypasses_r || step.args.sequence_lens != nullptr;
    for (std::int64_t b = step.first; b < step.last; ++b) {
      if (bypass) std::fill_n(step.bypass(b), n, C{0});
      step.load_previous_h(b);
      const BackwardRow<C> row = step.row(b);
      if (!step.valid(b)) {
        std::fill_n(row.dgates, s_.saved_width(), C{0});
        std::copy_n(row.dh, n, row.bypass);
        continue;
      }
      if (!Backward::adds_dy && step.args.dy != nullptr) add_row(row.dh, step.dy(b), n);
      cell_.cell(step, row);
    }
    cell_.through_r(step, weights);
    if (bypass) add_row(step.dh(step.first), step.bypass(step.first), step.samples() * n);
  }

  void add_gradients(const BackwardArgs<C>& args, const BackwardMemory<C>& memory,
                     const StepBlock& steps, std::int64_t d) const {
    const bool overwrites = steps.last == s_.sequence_length;
    const std::int64_t width = s_.width();
    const BackwardBlock<C> block{
        .args = args,
        .d = d,
        .rows = (steps.last - steps.first) * s_.batch_size,
        .start = steps.start * s_.batch_size,
        .dgates = memory.dgates,
        .previous_h = memory.previous_h,
        .options = {.beta = overwrites ? C{0} : C{1}},
        .workspace = {Scratch::at<std::byte>(args.call, work_), work_bytes_},
        .kernels = *kernels_};
    add_input_gradients(block);
    if (args.dr != nullptr) cell_.add_r_gradient(block, args.dr + d * width * s_.hidden_size);
    if (args.db != nullptr) add_bias_gradient(block, overwrites, args.db + d * 2 * width);
    if constexpr (Cell::traits.cell_state) {
      if (args.dp == nullptr) return;
      C* dp = args.dp + d * 3 * s_.hidden_size;
      if (overwrites) std::fill_n(dp, 3 * s_.hidden_size, C{0});
      for (auto i = steps.first; args.p != nullptr && i < steps.last; ++i) {
        const BackwardStep<C> step(s_, args, memory, steps, d, i, 0, s_.batch_size);
        cell_.add_peephole_gradient(step, dp);
      }
    }
  }

  // dX and dW.
  void add_input_gradients(const BackwardBlock<C>& block) const {
    const auto& args = block.args;
    const std::int64_t width = s_.width();
    const std::int64_t n = s_.input_size;
    if (args.dx != nullptr) {
      math::gemm<C>(args.call.pool(),
                    {.m = block.rows, .n = n, .k = width, .lda = s_.saved_width()}, block.dgates,
                    args.w + block.d * width * n, args.dx + block.start * n,
                    {.beta = block.d == 0 ? C{0} : C{1}}, block.workspace, block.kernels);
    }
    if (args.dw != nullptr) {
      math::gemm<C>(args.call.pool(),
                    {.m = width, .n = n, .k = block.rows, .trans_a = true, .lda = s_.saved_width()},
                    block.dgates, args.x + block.start * n, args.dw + block.d * width * n,
                    block.options, block.workspace, block.kernels);
    }
  }

  void add_bias_gradient(const BackwardBlock<C>& block, bool overwrites, C* db) const {
    const std::int64_t width = s_.width();
    C* sums = Scratch::at<C>(block.args.call, sums_);
    if (overwrites) std::fill_n(db, 2 * width, C{0});
    math::column_sums<C>(block.args.call.pool(), sums, block.dgates, block.rows, s_.saved_width(),
                         s_.saved_width());
    add_row(db, sums, width);
    cell_.add_r_bias(sums, db + width);
  }

  Scratch scratch_;
  Recurrence s_;
  BackwardOperands<C> operands_;
  Backward cell_;
  const math::SimdTables* kernels_;
  std::size_t dgates_ = 0, previous_h_ = 0, sums_ = 0, dh_ = 0, dc_ = 0, bypass_ = 0, work_ = 0;
  std::size_t work_bytes_ = 0;
};

}  // namespace ondine::kernels
