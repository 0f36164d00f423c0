// The steps of a usual LSTM whose weights stay in a second cache: products and cells together.
#pragma once

#include <algorithm>

#include "kernels/common/kernel_scratch.h"
#include "kernels/recurrent/lstm_cell.h"
#include "kernels/recurrent/recurrent_attributes.h"

namespace ondine::kernels {

template <class C>
class LstmSteps {
 public:
  // Rows of Z lie `kept` elements apart.
  LstmSteps(const graph::BindContext& context, Scratch& scratch, const Recurrence& s,
            std::int64_t kept)
      : s_(s), kept_(kept) {
    applies_ = s.is_standard_lstm() && !context.has_input(4) && s.packs() && s.small(s.input);
    if (!applies_) return;
    packed_ = scratch.add<C>(math::cell_kernels<C>().packed_lstm_elements(s.input, s.hidden));
    hidden_ = scratch.add<C>(context.has_output(0) ? 0 : 2 * s.batch * s.hidden);
  }

  // Whether `run` computes this node.
  bool applies() const noexcept { return applies_; }

  struct Call {
    const C *x, *w, *r, *bias;  // of a direction; bias [4 hidden] or null
    const C *h, *c;             // [batch, hidden]: the first state; h null: zeros
    C *y, *z, *cells;           // y may be null; z and cells of a direction
  };
  // All steps of direction d.
  void run(graph::KernelContext& call, std::int64_t d, const Call& p) const {
    const auto& kernels = math::cell_kernels<C>();
    C* packed = Scratch::at<C>(call, packed_);
    kernels.pack_lstm(s_.input, s_.hidden, p.w, p.r, p.bias, packed);
    call.pool().for_chunks(s_.batch, piece(call), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = 0; i < s_.steps; ++i) {
        call.check_cancelled();
        kernels.lstm_step(step(call, d, p, packed, i, first, last - first));
      }
    });
  }

  // The state of sample b after all steps, of which there is one at least.
  const C* last_h(graph::KernelContext& call, std::int64_t d, const Call& p, std::int64_t b) const {
    const Rows rows = hidden_rows(call, d, p, s_.steps - 1);
    return rows.data + b * rows.stride;
  }
  const C* last_c(std::int64_t d, const Call& p, std::int64_t b) const {
    return p.cells + s_.row(s_.step(d, s_.steps - 1), b) * s_.hidden;
  }

 private:
  // Samples of one step.
  struct Rows {
    C* data;
    std::int64_t stride;
  };

  // One thread reads each panel of the weights for twice as many samples.
  std::int64_t piece(graph::KernelContext& call) const {
    return call.pool().threads() == 1 ? 2 * s_.piece() : s_.piece();
  }

  // What the i-th computed step shows.
  Rows hidden_rows(graph::KernelContext& call, std::int64_t d, const Call& p,
                   std::int64_t i) const {
    if (p.y == nullptr) {
      return {Scratch::at<C>(call, hidden_) + i % 2 * s_.batch * s_.hidden, s_.hidden};
    }
    const std::int64_t t = s_.step(d, i);
    return {p.y + s_.y(d, t, 0), s_.y(d, t, 1) - s_.y(d, t, 0)};
  }

  math::LstmStep<C> step(graph::KernelContext& call, std::int64_t d, const Call& p, const C* packed,
                         std::int64_t i, std::int64_t first, std::int64_t samples) const {
    const std::int64_t n = s_.hidden;
    const std::int64_t t = s_.step(d, i);
    const std::int64_t between = s_.sample_stride();
    const Rows h = i > 0 ? hidden_rows(call, d, p, i - 1) : Rows{nullptr, n};
    const Rows h_new = hidden_rows(call, d, p, i);
    const C* const h_old = i > 0 ? h.data : p.h;
    const C* const c_old = i > 0 ? p.cells + s_.row(s_.step(d, i - 1), first) * n : p.c + first * n;
    return {.samples = samples,
            .input = s_.input,
            .hidden = n,
            .packed = packed,
            .x = p.x + s_.row(t, first) * s_.input,
            .x_stride = between * s_.input,
            .h = h_old == nullptr ? nullptr : h_old + first * h.stride,
            .h_stride = h.stride,
            .c = c_old,
            .c_stride = i > 0 ? between * n : n,
            .z = p.z + s_.row(t, first) * kept_,
            .z_stride = between * kept_,
            .h_new = h_new.data + first * h_new.stride,
            .h_new_stride = h_new.stride,
            .c_new = p.cells + s_.row(t, first) * n,
            .c_new_stride = between * n};
  }

  Recurrence s_;
  std::int64_t kept_;
  bool applies_ = false;
  std::size_t packed_ = 0, hidden_ = 0;
};

}  // namespace ondine::kernels
