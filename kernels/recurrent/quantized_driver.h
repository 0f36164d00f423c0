// Runs QuantizedLSTM over the sequence.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/common/scratch_pool.h"
#include "kernels/recurrent/lstm_cell.h"
#include "kernels/recurrent/quantized_lstm.h"
#include "kernels/recurrent/quantized_rows.h"
#include "kernels/recurrent/standard_lstm.h"

namespace ondine::kernels {

template <class C>
class QuantizedLstm {
 public:
  QuantizedLstm(graph::BindContext& context, const Recurrence& s)
      : s_(s),
        standard_(is_standard_lstm(s)),
        has_lengths_(context.has_input(In::sequence_lens)),
        keeps_ended_(keeps_ended(context)),
        w_(context, scratch_, {In::w, QuantizedLstmInput::w_scale, QuantizedLstmInput::w_point}),
        r_(context, scratch_, {In::r, QuantizedLstmInput::r_scale, QuantizedLstmInput::r_point}),
        x_(context, scratch_, In::x),
        b_(context, scratch_, In::b),
        initial_h_(context, scratch_, In::initial_h),
        initial_c_(context, scratch_, In::initial_c),
        p_(context, scratch_, In::p),
        y_(context, scratch_, 0, s.rows() * s.directions * s.hidden_size),
        y_h_(context, scratch_, 1, s.directions * states()),
        y_c_(context, scratch_, 2, s.directions * states()),
        gates_(context, scratch_, Out::gates, s.directions * s.rows() * s.width(), true),
        cells_(context, scratch_, Out::cells, s.directions * s.rows() * s.hidden_size),
        rounded_x_(context, scratch_, Out::rounded_x, s.rows() * s.input_size),
        rounded_y_(context, scratch_, Out::rounded_y, s.rows() * s.directions * s.hidden_size),
        rounded_h_(context, scratch_, Out::rounded_h, s.directions * states()) {
    h_at_ = scratch_.add<C>(states());
    c_at_ = scratch_.add<C>(states());
    active_at_ = scratch_.add<C>(standard_ ? 0 : s.batch_size * s.width());
    bias_at_ = scratch_.add<C>(s.width());
    unused_at_ = scratch_.add<C>(s.width());
    bytes_at_ = scratch_.add<std::int8_t>(states());
    sums_at_ = scratch_.add<std::int32_t>(checked_mul(s.batch_size, r_.width()));
    to_at_ = scratch_.add<C*>(s.batch_size);
    block_bytes_ = math::bytes_of<std::byte>(block_rows * s.input_size);
    slot_ = block_bytes_ + math::bytes_of<std::int32_t>(block_rows * w_.width());
    slots_ = math::ScratchPool::bytes(slot_, context.threads());
    slots_at_ = scratch_.add_bytes(slots_);
    scratch_.request(context);
  }

  void operator()(graph::KernelContext& call) const {
    const Call one = load(call);
    for (std::int64_t d = 0; d < s_.directions; ++d) run(one, d);
    for (const ComputeOut<C>* out :
         {&y_, &y_h_, &y_c_, &gates_, &cells_, &rounded_x_, &rounded_y_, &rounded_h_}) {
      out->store(call);
    }
  }

 private:
  using In = RecurrentInput;
  using Out = QuantizedLstmOutput;
  using Direction = typename QuantizedWeights<C>::Direction;
  static constexpr std::int64_t block_rows = 48;

  // The operands of one call; null where one is absent.
  struct Call {
    graph::KernelContext& context;
    const std::int32_t* lengths;
    std::int64_t steps;  // of the longest sequence
    const C *x, *b, *initial_h, *initial_c, *p;
    C *y, *y_h, *y_c, *gates, *cells, *rounded_x, *rounded_y, *rounded_h;
    C *h, *c;  // [batch_size, hidden_size]

    std::int64_t length(std::int64_t sample) const {
      return lengths == nullptr ? steps : lengths[sample];
    }
  };

  std::int64_t states() const { return s_.batch_size * s_.hidden_size; }

  Call load(graph::KernelContext& call) const {
    const auto* lengths = has_lengths_ ? call.in<std::int32_t>(In::sequence_lens) : nullptr;
    std::int64_t steps = lengths == nullptr ? s_.sequence_length : 0;
    if (lengths != nullptr) {
      check_lengths(s_, lengths);
      for (std::int64_t b = 0; b < s_.batch_size; ++b) {
        steps = std::max<std::int64_t>(steps, lengths[b]);
      }
    }
    Call one{call,
             lengths,
             steps,
             x_(call),
             b_(call),
             initial_h_(call),
             initial_c_(call),
             p_(call),
             y_.data(call),
             y_h_.data(call),
             y_c_.data(call),
             gates_.data(call),
             cells_.data(call),
             rounded_x_.data(call),
             rounded_y_.data(call),
             rounded_h_.data(call),
             Scratch::at<C>(call, h_at_),
             Scratch::at<C>(call, c_at_)};
    clear(one);
    return one;
  }

  // Zeroes the memory that no step writes.
  void clear(const Call& call) const {
    const auto zero = [](C* to, std::int64_t n) {
      if (to != nullptr) std::fill_n(to, n, C{0});
    };
    const std::int64_t rows = s_.rows() * s_.directions;
    zero(call.rounded_y, rows * s_.hidden_size);
    zero(Scratch::at<C>(call.context, unused_at_), s_.width());
    if (call.lengths == nullptr) return;
    zero(call.y, rows * s_.hidden_size);
    zero(call.cells, rows * s_.hidden_size);
    zero(call.rounded_x, s_.rows() * s_.input_size);
    zero(call.gates, rows * s_.width());
  }

  // The step of X that a sample takes as its i-th.
  std::int64_t time(const Call& call, std::int64_t d, std::int64_t sample, std::int64_t i) const {
    return s_.runs_backwards(d) ? call.length(sample) - 1 - i : i;
  }

  void run(const Call& call, std::int64_t d) const {
    start(call, d);
    multiply_inputs(call, d);
    const Direction r = r_.prepare(call.context, d);
    for (std::int64_t i = 0; i < call.steps; ++i) {
      call.context.check_cancelled();
      multiply_states(call, d, i, r);
      take_step(call, d, i);
    }
  }

  void start(const Call& call, std::int64_t d) const {
    const std::int64_t n = states();
    const auto load = [&](const C* from, C* to) {
      from == nullptr ? std::fill_n(to, n, C{0}) : std::copy_n(from + d * n, n, to);
    };
    load(call.initial_h, call.h);
    load(call.initial_c, call.c);
    if (call.rounded_h != nullptr) std::fill_n(call.rounded_h + d * n, n, C{0});
    // Results of sequences without steps.
    if (call.y_h != nullptr) std::fill_n(call.y_h + d * n, n, C{0});
    if (call.y_c != nullptr) std::fill_n(call.y_c + d * n, n, C{0});
    C* const bias = Scratch::at<C>(call.context, bias_at_);
    const std::int64_t width = s_.width();
    for (std::int64_t k = 0; k < width; ++k) {
      const C* const own = call.b + d * 2 * width;
      bias[k] = call.b == nullptr ? C{0} : own[k] + own[width + k];
    }
  }

  // The gates of all steps begin as the products of X, which is rounded as a whole.
  void multiply_inputs(const Call& call, std::int64_t d) const {
    const Direction w = w_.prepare(call.context, d);
    const std::int64_t rows = call.steps * s_.batch_size, k = s_.input_size;
    const auto rounding = ByteRounding<C>::of(call.x, rows * k);
    C* const gates = call.gates + d * s_.rows() * s_.width();
    math::ScratchPool({Scratch::at<std::byte>(call.context, slots_at_), slots_}, slot_)
        .for_chunks(call.context.pool(), rows, block_rows,
                    [&](std::byte* slot, std::int64_t first, std::int64_t last) {
                      auto* const bytes = reinterpret_cast<std::int8_t*>(slot);
                      rounding.quantize(bytes, call.x + first * k, (last - first) * k);
                      if (call.rounded_x != nullptr) {
                        rounding.dequantize(call.rounded_x + first * k, bytes, (last - first) * k);
                      }
                      C* to[block_rows];
                      for (auto i = first; i < last; ++i) to[i - first] = gates + i * s_.width();
                      w_.multiply(w, {last - first, bytes, rounding}, 0, s_.width(),
                                  reinterpret_cast<std::int32_t*>(slot + block_bytes_), to, false);
                    });
  }

  // Adds the products of h, which is rounded for all samples together.
  void multiply_states(const Call& call, std::int64_t d, std::int64_t i, const Direction& r) const {
    const std::int64_t n = s_.hidden_size, width = s_.width();
    const auto rounding = ByteRounding<C>::of(call.h, states());
    auto* const bytes = Scratch::at<std::int8_t>(call.context, bytes_at_);
    rounding.quantize(bytes, call.h, states());
    C** const to = Scratch::at<C*>(call.context, to_at_);
    for (std::int64_t b = 0; b < s_.batch_size; ++b) {
      const bool valid = i < call.length(b);
      to[b] = valid ? gates(call, d, b, i) : Scratch::at<C>(call.context, unused_at_);
      C* const all = i == 0 ? call.rounded_h : call.rounded_y;
      if (!valid || all == nullptr) continue;
      const std::int64_t at =
          i == 0 ? s_.state_offset(d, b) : s_.y_offset(d, time(call, d, b, i - 1), b);
      rounding.dequantize(all + at, bytes + b * n, n);
    }
    // Several threads pay for a million products and more.
    constexpr std::int64_t products = std::int64_t{1} << 20;
    const std::int64_t unit = r_.column_unit();
    const std::int64_t units = std::max<std::int64_t>(1, products / (s_.batch_size * n * unit + 1));
    call.context.pool().for_chunks(width, units * unit, [&](std::int64_t first, std::int64_t last) {
      r_.multiply(r, {s_.batch_size, bytes, rounding}, first, last,
                  Scratch::at<std::int32_t>(call.context, sums_at_), to, true);
    });
  }

  C* gates(const Call& call, std::int64_t d, std::int64_t b, std::int64_t i) const {
    return call.gates + (d * s_.rows() + s_.row(time(call, d, b, i), b)) * s_.width();
  }

  void take_step(const Call& call, std::int64_t d, std::int64_t i) const {
    const std::int64_t grain =
        std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, s_.width()));
    call.context.pool().for_chunks(s_.batch_size, grain,
                                   [&](std::int64_t first, std::int64_t last) {
                                     for (auto b = first; b < last; ++b) {
                                       i < call.length(b) ? cell(call, d, b, i) : end(call, b);
                                     }
                                   });
  }

  void end(const Call& call, std::int64_t b) const {
    if (keeps_ended_ && call.length(b) > 0) return;
    std::fill_n(call.h + b * s_.hidden_size, s_.hidden_size, C{0});
  }

  void cell(const Call& call, std::int64_t d, std::int64_t b, std::int64_t i) const {
    const std::int64_t n = s_.hidden_size;
    const ForwardRow<C> row{b, gates(call, d, b, i), call.h + b * n, call.c + b * n};
    const C* const bias = Scratch::at<C>(call.context, bias_at_);
    for (std::int64_t k = 0; k < s_.width(); ++k) row.gates[k] += bias[k];
    if (standard_) {
      math::cell_kernels<C>().lstm(row.gates, row.c, row.h, n);
    } else {
      general_lstm_cell(s_, d, lstm_peepholes(s_, call, d),
                        Scratch::at<C>(call.context, active_at_) + b * s_.width(), row);
    }
    const std::int64_t t = time(call, d, b, i);
    if (call.y != nullptr) std::copy_n(row.h, n, call.y + s_.y_offset(d, t, b));
    if (call.cells != nullptr) save_cell(call, d, row, i);
    if (i + 1 < call.length(b)) return;
    if (call.y_h != nullptr) std::copy_n(row.h, n, call.y_h + s_.state_offset(d, b));
    if (call.y_c != nullptr) std::copy_n(row.c, n, call.y_c + s_.state_offset(d, b));
  }

  // The derivative walks over all steps of X: those after the end of a sequence have the cells that
  // its first step begins with, when it is backwards.
  void save_cell(const Call& call, std::int64_t d, const ForwardRow<C>& row, std::int64_t i) const {
    const std::int64_t n = s_.hidden_size;
    C* const cells = call.cells + d * s_.rows() * n;
    std::copy_n(row.c, n, cells + s_.row(time(call, d, row.b, i), row.b) * n);
    if (i > 0) return;
    for (std::int64_t t = call.length(row.b); t < s_.sequence_length; ++t) {
      C* const to = cells + s_.row(t, row.b) * n;
      if (call.initial_c == nullptr) {
        std::fill_n(to, n, C{0});
      } else {
        std::copy_n(call.initial_c + s_.state_offset(d, row.b), n, to);
      }
    }
  }

  Scratch scratch_;
  Recurrence s_;
  bool standard_, has_lengths_, keeps_ended_;
  QuantizedWeights<C> w_, r_;
  ComputeIn<C> x_, b_, initial_h_, initial_c_, p_;
  ComputeOut<C> y_, y_h_, y_c_, gates_, cells_, rounded_x_, rounded_y_, rounded_h_;
  std::size_t h_at_ = 0, c_at_ = 0, active_at_ = 0, bias_at_ = 0, unused_at_ = 0, bytes_at_ = 0;
  std::size_t sums_at_ = 0, to_at_ = 0;
  std::size_t block_bytes_ = 0, slot_ = 0, slots_ = 0, slots_at_ = 0;
};

}  // namespace ondine::kernels
