// Inputs and outputs of RNN, GRU and LSTM.
#pragma once

#include <algorithm>

#include "kernels/common/compute_type.h"
#include "kernels/recurrent/recurrence.h"

namespace ondine::kernels {

// The operands of one call, in the type that is computed in; nullptr where one is absent.
template <class C>
struct ForwardArgs {
  graph::KernelContext& call;
  const C *x, *w, *r, *b, *initial_h, *initial_c, *p;
  const std::int32_t* sequence_lens;
  C *y, *y_h, *y_c, *gates, *cells;
};

// [batch_size, hidden_size]
template <class C>
struct CellState {
  C *h, *c;
};

template <class C>
class ForwardOperands {
 public:
  ForwardOperands(const graph::BindContext& context, Scratch& scratch, const Recurrence& s)
      : s_(s),
        out_(s.cell),
        x_(context, scratch, In::x),
        w_(context, scratch, In::w),
        r_(context, scratch, In::r),
        b_(context, scratch, In::b),
        initial_h_(context, scratch, In::initial_h),
        initial_c_(context, scratch, In::initial_c),
        p_(context, scratch, In::p),
        y_(context, scratch, out_.y, s.rows() * s.directions * s.hidden_size),
        y_h_(context, scratch, out_.y_h, state_size()),
        y_c_(context, scratch, out_.y_c, state_size()),
        gates_(context, scratch, out_.gates, s.directions * s.rows() * s.saved_width(), true),
        cells_(context, scratch, out_.cells, s.directions * s.rows() * s.hidden_size,
               s.cell.cell_state),
        has_lengths_(context.has_input(In::sequence_lens)),
        bias_(scratch.add<C>(s.width())),
        h_(scratch.add<C>(s.batch_size * s.hidden_size)),
        c_(scratch.add<C>(s.batch_size * s.hidden_size)) {}

  // Error(mismatch) when sequence_lens holds a negative length or one above that of X.
  ForwardArgs<C> load(graph::KernelContext& call) const {
    const auto* lengths = has_lengths_ ? call.in<std::int32_t>(In::sequence_lens) : nullptr;
    if (lengths != nullptr) check_lengths(s_, lengths);
    return {.call = call,
            .x = x_(call),
            .w = w_(call),
            .r = r_(call),
            .b = b_(call),
            .initial_h = initial_h_(call),
            .initial_c = initial_c_(call),
            .p = p_(call),
            .sequence_lens = lengths,
            .y = y_.data(call),
            .y_h = y_h_.data(call),
            .y_c = y_c_.data(call),
            .gates = gates_.data(call),
            .cells = cells_.data(call)};
  }
  void store(graph::KernelContext& call) const {
    y_.store(call);
    y_h_.store(call);
    y_c_.store(call);
    gates_.store(call);
    cells_.store(call);
  }

  // The state before the first step, in scratch memory.
  CellState<C> initial_state(const ForwardArgs<C>& args, std::int64_t d) const {
    const CellState<C> state{Scratch::at<C>(args.call, h_), Scratch::at<C>(args.call, c_)};
    for (std::int64_t b = 0; b < s_.batch_size; ++b) {
      load_state(args.initial_h, d, b, state.h);
      load_state(args.initial_c, d, b, state.c);
    }
    return state;
  }
  // Y_h and Y_c of sample b.
  void store_state(const ForwardArgs<C>& args, std::int64_t d, std::int64_t b, const C* h,
                   const C* c) const {
    const std::int64_t offset = s_.state_offset(d, b);
    if (args.y_h != nullptr) std::copy_n(h, s_.hidden_size, args.y_h + offset);
    if (args.y_c != nullptr) std::copy_n(c, s_.hidden_size, args.y_c + offset);
  }

  // The bias of X W, in scratch memory: that of W plus, for the first `r_columns`, that of R.
  // nullptr without B.
  const C* input_bias(const ForwardArgs<C>& args, std::int64_t d, std::int64_t r_columns) const {
    if (args.b == nullptr) return nullptr;
    const std::int64_t width = s_.width();
    const C* own = args.b + d * 2 * width;
    C* bias = Scratch::at<C>(args.call, bias_);
    for (std::int64_t k = 0; k < width; ++k) {
      bias[k] = own[k] + (k < r_columns ? own[width + k] : C{0});
    }
    return bias;
  }

 private:
  using In = RecurrentInput;

  std::int64_t state_size() const { return s_.directions * s_.batch_size * s_.hidden_size; }

  void load_state(const C* initial, std::int64_t d, std::int64_t b, C* state) const {
    C* to = state + b * s_.hidden_size;
    if (initial == nullptr) {
      std::fill_n(to, s_.hidden_size, C{0});
    } else {
      std::copy_n(initial + s_.state_offset(d, b), s_.hidden_size, to);
    }
  }

  Recurrence s_;
  RecurrentOutput out_;
  ComputeIn<C> x_, w_, r_, b_, initial_h_, initial_c_, p_;
  ComputeOut<C> y_, y_h_, y_c_, gates_, cells_;
  bool has_lengths_;
  std::size_t bias_, h_, c_;
};

}  // namespace ondine::kernels
