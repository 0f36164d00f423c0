// Step of backpropagation through time, as a cell sees it.
#pragma once

#include "kernels/matmul/gemm_primitive.h"
#include "kernels/recurrent/backward_operands.h"

namespace ondine::kernels {

// Scratch memory of a direction. dh and dc: derivatives with respect to the state, [batch,
// hidden_size]. bypass: the part of dh that reaches the previous state without passing R. The
// others have the rows of a block of steps: derivatives with respect to the saved gates, and h
// before each step.
template <class C>
struct BackwardMemory {
  C *dh, *dc, *bypass, *dgates, *previous_h;
};

// Computed steps [first, last), in X those from `start` on.
struct StepBlock {
  std::int64_t first, last, start;
};

// One sample in one step. In: dh (with dy, unless the cell adds it) and dc after the step; the
// saved gates and h before it. Out: dgates, dc before the step, bypass.
template <class C>
struct BackwardRow {
  std::int64_t b;
  const C *gates, *previous_h;
  C *dh, *dc, *dgates, *bypass;
};

// The i-th computed step of the samples [first, last).
template <class C>
class BackwardStep {
 public:
  BackwardStep(const Recurrence& s, const BackwardArgs<C>& operands,
               const BackwardMemory<C>& memory, const StepBlock& block, std::int64_t direction,
               std::int64_t computed, std::int64_t from, std::int64_t to)
      : args(operands),
        d(direction),
        i(computed),
        t(s.step(direction, computed)),
        first(from),
        last(to),
        s_(s),
        memory_(memory),
        start_(block.start * s.batch_size) {}

  std::int64_t samples() const { return last - first; }
  bool valid(std::int64_t b) const { return valid(t, b); }
  C* dh(std::int64_t b) const { return memory_.dh + b * s_.hidden_size; }
  C* bypass(std::int64_t b) const { return memory_.bypass + b * s_.hidden_size; }
  C* dgates(std::int64_t b) const {
    return memory_.dgates + (s_.row(t, b) - start_) * s_.saved_width();
  }
  C* previous_h(std::int64_t b) const {
    return memory_.previous_h + (s_.row(t, b) - start_) * s_.hidden_size;
  }
  // Saved gates and cells of the computed step `at`, which need not be this one.
  const C* gates(std::int64_t b, std::int64_t at) const {
    return args.gates + (d * s_.rows() + s_.row(s_.step(d, at), b)) * s_.saved_width();
  }
  const C* gates(std::int64_t b) const { return gates(b, i); }
  const C* cells(std::int64_t b, std::int64_t at) const {
    return args.cells + (d * s_.rows() + s_.row(s_.step(d, at), b)) * s_.hidden_size;
  }
  const C* cells(std::int64_t b) const { return cells(b, i); }
  // The cells of the previous step, or the initial ones, which may be put into `memory`
  // [hidden_size].
  const C* previous_cells(std::int64_t b, C* memory) const {
    if (i > 0) return cells(b, i - 1);
    load_state(s_, args.initial_c, s_.state_offset(d, b), memory);
    return memory;
  }
  // nullptr without dY.
  const C* dy(std::int64_t b, std::int64_t at) const {
    return args.dy == nullptr ? nullptr : args.dy + s_.y_offset(d, s_.step(d, at), b);
  }
  const C* dy(std::int64_t b) const { return dy(b, i); }

  // Writes h before the step: the result of the previous step, or the initial h.
  void load_previous_h(std::int64_t b) const {
    C* h = previous_h(b);
    if (i == 0 || !valid(s_.step(d, i - 1), b)) {
      return load_state(s_, args.initial_h, s_.state_offset(d, b), h);
    }
    std::copy_n(args.y + s_.y_offset(d, s_.step(d, i - 1), b), s_.hidden_size, h);
  }
  BackwardRow<C> row(std::int64_t b) const {
    return {b,         gates(b), previous_h(b), dh(b), memory_.dc + b * s_.hidden_size,
            dgates(b), bypass(b)};
  }

  const BackwardArgs<C>& args;
  const std::int64_t d, i, t, first, last;

 private:
  bool valid(std::int64_t step, std::int64_t b) const {
    return args.sequence_lens == nullptr || step < args.sequence_lens[b];
  }

  const Recurrence& s_;
  const BackwardMemory<C>& memory_;
  std::int64_t start_;
};

// The rows of a block, once its steps are done.
template <class C>
struct BackwardBlock {
  const BackwardArgs<C>& args;
  std::int64_t d, rows;
  std::int64_t start;  // the first row in X
  const C *dgates, *previous_h;
  math::GemmOptions<C> options;  // accumulates over the blocks
  math::Workspace workspace;
  const math::SimdTables& kernels;
};

template <class C>
void add_row(C* to, const C* from, std::int64_t n) {
  math::vector_kernels<C>().axpy(to, C{1}, from, n);
}

}  // namespace ondine::kernels
