// Cells whose gates all see R h: RNN and LSTM.
#pragma once

#include "kernels/recurrent/backward_driver.h"
#include "kernels/recurrent/forward_driver.h"

namespace ondine::kernels {

template <class C>
class DirectForward {
 public:
  DirectForward(graph::BindContext& context, Scratch& scratch, const Recurrence& s)
      : s_(s),
        product_(context, scratch, s,
                 {.n = s.width(),
                  .k = s.hidden_size,
                  .lda = s.hidden_size,
                  .ldc = s.gates_stride(),
                  .transposed = true}) {}

  std::int64_t r_bias_columns() const { return s_.width(); }
  const C* prepare(const ForwardArgs<C>& args, std::int64_t d) const {
    return product_.prepare(args.call, args.r + d * s_.width() * s_.hidden_size);
  }

 protected:
  // gates += h R
  void add_products(const ForwardStep<C>& step, const C* r) const {
    product_.run(step.args.call, r, step.first, step.samples(), step.h(step.first),
                 step.gates(step.first), true);
  }

  Recurrence s_;

 private:
  StepProduct<C> product_;
};

template <class C, std::int64_t Gates>
class DirectBackward {
 public:
  static constexpr std::int64_t direct_gates = Gates;
  static constexpr bool bypasses_r = false;

  DirectBackward(graph::BindContext& context, Scratch& scratch, const Recurrence& s)
      : s_(s),
        product_(context, scratch, s,
                 {.n = s.hidden_size,
                  .k = s.width(),
                  .lda = s.gates_stride(),
                  .ldc = s.hidden_size,
                  .transposed = false}) {}

  const C* prepare(const BackwardArgs<C>& args, std::int64_t d) const {
    return product_.prepare(args.call, args.r + d * s_.width() * s_.hidden_size);
  }
  void through_r(const BackwardStep<C>& step, const C* r) const {
    product_.run(step.args.call, r, step.first, step.samples(), step.dgates(step.first),
                 step.dh(step.first), false);
  }
  void add_r_gradient(const BackwardBlock<C>& block, C* dr) const {
    math::gemm<C>(block.args.call.pool(),
                  {.m = s_.width(),
                   .n = s_.hidden_size,
                   .k = block.rows,
                   .trans_a = true,
                   .lda = s_.saved_width()},
                  block.dgates, block.previous_h, dr, block.options, block.workspace,
                  block.kernels);
  }
  void add_r_bias(const C* sums, C* db) const { add_row(db, sums, s_.width()); }

 protected:
  Recurrence s_;

 private:
  StepProduct<C> product_;
};

}  // namespace ondine::kernels
