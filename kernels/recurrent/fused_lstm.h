// A standard LSTM whose weights stay in the L2 cache: a step computes products and cells together.
#pragma once

#include "kernels/recurrent/forward_operands.h"
#include "kernels/recurrent/lstm_cell.h"
#include "kernels/recurrent/standard_lstm.h"

namespace ondine::kernels {

inline bool supports_fused_lstm(const graph::BindContext& context, const Recurrence& s) {
  return is_standard_lstm(s) && !context.has_input(RecurrentInput::sequence_lens) && s.packs() &&
         s.fits_l2(s.input_size);
}

template <class C>
class FusedLstm {
 public:
  FusedLstm(graph::BindContext& context, const Recurrence& s)
      : s_(s), operands_(context, scratch_, s) {
    packed_ =
        scratch_.add<C>(math::cell_kernels<C>().packed_lstm_elements(s.input_size, s.hidden_size));
    const bool has_y = context.has_output(RecurrentOutput::y);
    hidden_ = scratch_.add<C>(has_y ? 0 : 2 * s.batch_size * s.hidden_size);
    scratch_.request(context);
  }

  void operator()(graph::KernelContext& call) const {
    const ForwardArgs<C> args = operands_.load(call);
    for (std::int64_t d = 0; d < s_.directions; ++d) run(direction(args, d));
    operands_.store(call);
  }

 private:
  struct Direction {
    const ForwardArgs<C>& args;
    std::int64_t d;
    CellState<C> initial;
    const C* packed;
    C *gates, *cells;
  };
  // Hidden values of the samples of a step.
  struct Rows {
    C* data;
    std::int64_t stride;
  };

  Direction direction(const ForwardArgs<C>& args, std::int64_t d) const {
    const std::int64_t n = s_.hidden_size;
    C* packed = Scratch::at<C>(args.call, packed_);
    math::cell_kernels<C>().pack_lstm(s_.input_size, n, args.w + d * s_.width() * s_.input_size,
                                      args.r + d * s_.width() * n,
                                      operands_.input_bias(args, d, s_.width()), packed);
    return {args,
            d,
            operands_.initial_state(args, d),
            packed,
            args.gates + d * s_.rows() * s_.saved_width(),
            args.cells + d * s_.rows() * n};
  }

  void run(const Direction& direction) const {
    const auto& kernels = math::cell_kernels<C>();
    auto& call = direction.args.call;
    // A single thread reads each panel of the weights for twice as many samples.
    const std::int64_t chunk = (call.pool().threads() == 1 ? 2 : 1) * s_.batch_chunk();
    call.pool().for_chunks(s_.batch_size, chunk, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = 0; i < s_.sequence_length; ++i) {
        call.check_cancelled();
        kernels.lstm_step(step(direction, i, first, last - first));
      }
    });
    store_last_state(direction);
  }

  void store_last_state(const Direction& direction) const {
    const std::int64_t n = s_.hidden_size;
    Rows h{direction.initial.h, n};
    Rows c{direction.initial.c, n};
    if (s_.sequence_length > 0) {
      const std::int64_t last = s_.sequence_length - 1;
      h = hidden_rows(direction, last);
      c = {direction.cells + s_.row(s_.step(direction.d, last), 0) * n, s_.sample_stride() * n};
    }
    for (std::int64_t b = 0; b < s_.batch_size; ++b) {
      operands_.store_state(direction.args, direction.d, b, h.data + b * h.stride,
                            c.data + b * c.stride);
    }
  }

  // h after the i-th computed step: in Y, or in one of two scratch buffers.
  Rows hidden_rows(const Direction& direction, std::int64_t i) const {
    const ForwardArgs<C>& args = direction.args;
    if (args.y == nullptr) {
      C* hidden = Scratch::at<C>(args.call, hidden_);
      return {hidden + i % 2 * s_.batch_size * s_.hidden_size, s_.hidden_size};
    }
    const std::int64_t t = s_.step(direction.d, i);
    const std::int64_t first = s_.y_offset(direction.d, t, 0);
    return {args.y + first, s_.y_offset(direction.d, t, 1) - first};
  }

  // h before the i-th computed step; null stands for zeros.
  Rows previous_hidden_rows(const Direction& direction, std::int64_t i) const {
    if (i > 0) return hidden_rows(direction, i - 1);
    const bool zeros = direction.args.initial_h == nullptr;
    return {zeros ? nullptr : direction.initial.h, s_.hidden_size};
  }

  math::LstmStep<C> step(const Direction& direction, std::int64_t i, std::int64_t first,
                         std::int64_t samples) const {
    const std::int64_t n = s_.hidden_size;
    const std::int64_t t = s_.step(direction.d, i);
    const std::int64_t stride = s_.sample_stride();
    const std::int64_t row = s_.row(t, first);
    const Rows h = previous_hidden_rows(direction, i);
    const Rows h_new = hidden_rows(direction, i);
    const C* previous_c = direction.initial.c + first * n;
    if (i > 0) previous_c = direction.cells + s_.row(s_.step(direction.d, i - 1), first) * n;
    return {.samples = samples,
            .input = s_.input_size,
            .hidden = n,
            .packed = direction.packed,
            .x = direction.args.x + row * s_.input_size,
            .x_stride = stride * s_.input_size,
            .h = h.data == nullptr ? nullptr : h.data + first * h.stride,
            .h_stride = h.stride,
            .c = previous_c,
            .c_stride = i > 0 ? stride * n : n,
            .z = direction.gates + row * s_.saved_width(),
            .z_stride = stride * s_.saved_width(),
            .h_new = h_new.data + first * h_new.stride,
            .h_new_stride = h_new.stride,
            .c_new = direction.cells + row * n,
            .c_new_stride = stride * n};
  }

  Scratch scratch_;
  Recurrence s_;
  ForwardOperands<C> operands_;
  std::size_t packed_ = 0, hidden_ = 0;
};

}  // namespace ondine::kernels
