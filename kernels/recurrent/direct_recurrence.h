// Cells whose gates all see R h: RNN and LSTM.
#pragma once

#include "kernels/recurrent/backward_driver.h"
#include "kernels/recurrent/forward_driver.h"

namespace ondine::kernels {

template <class C>
class DirectForward {
 public:
  DirectForward(graph::BindContext& context, Scratch& scratch, const Recurrence& s)
      : s_(s), product_(context, scratch, s, s.width(), s.hidden_size, true) {}

  std::int64_t r_bias_columns() const { return s_.width(); }
  const C* prepare(const ForwardArgs<C>& args, std::int64_t d) const {
    return product_.prepare(args.call, args.r + d * s_.width() * s_.hidden_size);
  }

 protected:
  // gates += h R
  void add_products(const ForwardStep<C>& step, const C* r) const {
    product_.run(step.args.call, r, step.first, step.samples(), step.h(step.first), s_.hidden_size,
                 step.gates(step.first), step.gates_stride(), true);
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
      : s_(s), product_(context, scratch, s, s.hidden_size, s.width(), false) {}

  const C* prepare(const BackwardArgs<C>& args, std::int64_t d) const {
    return product_.prepare(args.call, args.r + d * s_.width() * s_.hidden_size);
  }
  void through_r(const BackwardStep<C>& step, const C* r) const {
    product_.run(step.args.call, r, step.first, step.samples(), step.dgates(step.first),
                 step.dgates_stride(), step.dh(step.first), s_.hidden_size, false);
  }
  void add_r_gradient(const BackwardBlock<C>& block, C* dr) const {
    math::gemm<C>(block.args.call.pool(),
                  {.m = s_.width(),
                   .n = s_.hidden_size,
                   .k = block.rows,
                   .trans_a = true,
                   .lda = s_.saved_width()},
                  block.dgates, block.previous_h, dr, block.options, block.workspace);
  }
  void add_r_bias(const C* sums, C* db) const { add_row(db, sums, s_.width()); }

 protected:
  Recurrence s_;

 private:
  StepProduct<C> product_;
};

}  // namespace ondine::kernels
