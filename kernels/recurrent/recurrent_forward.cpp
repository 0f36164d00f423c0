#include "kernels/recurrent/recurrent_forward.h"

#include <algorithm>

#include "kernels/common/compute_type.h"
#include "kernels/recurrent/lstm_cell.h"
#include "kernels/recurrent/recurrent_attributes.h"
#include "kernels/recurrent/recurrent_product.h"
#include "kernels/recurrent/recurrent_steps.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

// Rows of Z hold the inputs of the gates' activations: RNN h; GRU z, r, h and (with
// linear_before_reset) what r is multiplied with; LSTM i, o, f, c. An LSTM with its usual
// activations keeps their results instead.
template <class C>
class Forward {
 public:
  explicit Forward(BindContext& context)
      : s_(read_recurrence(context, context.shape(0), context.shape(2))),
        kept_(saved_width(context) * s_.hidden),
        lstm_(s_.gates == 4),
        usual_(s_.is_standard_lstm()),
        x_(context, scratch_, 0),
        w_(context, scratch_, 1),
        r_(context, scratch_, 2),
        b_(context, scratch_, 3),
        h0_(context, scratch_, 5),
        c0_(context, scratch_, 6),
        p_(context, scratch_, 7),
        y_(context, scratch_, 0, s_.rows() * s_.directions * s_.hidden),
        y_h_(context, scratch_, 1, s_.directions * s_.batch * s_.hidden),
        y_c_(context, scratch_, lstm_ ? 2 : 99, s_.directions * s_.batch * s_.hidden),
        z_(context, scratch_, lstm_ ? 3 : 2, s_.directions * s_.rows() * kept_, true),
        cells_(context, scratch_, lstm_ ? 4 : 99, s_.directions * s_.rows() * s_.hidden, lstm_),
        steps_(context, scratch_, s_, kept_),
        each_input_(s_.packs() && s_.small(s_.input)),
        input_product_(context, scratch_, s_, each_input_ && !steps_.applies() ? s_.width() : 0,
                       s_.input, true),
        product_(context, scratch_, s_,
                 steps_.applies() ? 0 : (reset_first() ? 2 : s_.gates) * s_.hidden, s_.hidden,
                 true),
        last_product_(context, scratch_, s_, reset_first() ? s_.hidden : 0, s_.hidden, true) {
    has_lengths_ = context.has_input(4);
    const std::int64_t state = s_.batch * s_.hidden;
    bias_ = scratch_.add<C>(s_.width());
    h_ = scratch_.add<C>(state);
    c_ = scratch_.add<C>(state);
    u_ = scratch_.add<C>(s_.gates == 3 ? s_.batch * s_.width() : 0);
    reset_ = scratch_.add<C>(state);
    rows_ = scratch_.add<C>(s_.batch * 5 * s_.hidden);
    const math::GemmShape all{.m = s_.rows(), .n = s_.width(), .k = s_.input, .trans_b = true};
    if (!each_input_) work_bytes_ = math::gemm_workspace<C>(all, 1, context.threads());
    work_ = scratch_.add_bytes(work_bytes_);
    scratch_.request(context);
  }

  void operator()(KernelContext& call) const {
    Pointers p{call,          x_(call),      w_(call),
               r_(call),      b_(call),      h0_(call),
               c0_(call),     p_(call),      has_lengths_ ? call.in<std::int32_t>(4) : nullptr,
               y_.data(call), z_.data(call), cells_.data(call)};
    if (p.lengths != nullptr) check_lengths(p.lengths);
    for (std::int64_t d = 0; d < s_.directions; ++d) run(p, d);
    y_.store(call);
    y_h_.store(call);
    y_c_.store(call);
    z_.store(call);
    cells_.store(call);
  }

 private:
  struct Pointers {
    KernelContext& call;
    const C *x, *w, *r, *b, *h0, *c0, *p;
    const std::int32_t* lengths;
    C *y, *z, *cells;
    const C* bias = nullptr;
    const C* input_matrix = nullptr;  // of input_product_
    const C* matrix = nullptr;        // of product_
    const C* last_matrix = nullptr;   // of last_product_
  };
  bool reset_first() const { return s_.gates == 3 && !s_.linear_before_reset; }
  C* at(const Pointers& p, std::size_t offset) const { return Scratch::at<C>(p.call, offset); }
  math::Workspace workspace(const Pointers& p) const {
    return {Scratch::at<std::byte>(p.call, work_), work_bytes_};
  }

  void check_lengths(const std::int32_t* lengths) const {
    for (std::int64_t i = 0; i < s_.batch; ++i) {
      if (lengths[i] < 0 || lengths[i] > s_.steps) {
        fail(ErrorCode::mismatch, "sequence_lens holds ", lengths[i], ", X has ", s_.steps,
             " steps");
      }
    }
  }

  void run(Pointers& p, std::int64_t d) const {
    const std::int64_t hidden = s_.hidden;
    const std::int64_t width = s_.width();
    C* z = p.z + d * s_.rows() * kept_;
    C* h = at(p, h_);
    C* c = at(p, c_);
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      start(p.h0, d, b, h);
      start(p.c0, d, b, c);
    }
    if (p.b != nullptr) add_biases(p, d);
    const C* w = p.w + d * width * s_.input;
    const C* r = p.r + d * width * hidden;
    if (steps_.applies()) return run_steps(p, d, w, r);
    p.input_matrix = input_product_.prepare(p.call, w);
    if (!each_input_ && s_.rows() > 0) {
      math::gemm<C>(p.call.pool(),
                    {.m = s_.rows(), .n = width, .k = s_.input, .trans_b = true, .ldc = kept_}, p.x,
                    w, z, {.col_bias = p.bias}, workspace(p));
    }
    p.matrix = product_.prepare(p.call, r);
    if (reset_first()) p.last_matrix = last_product_.prepare(p.call, r + 2 * hidden * hidden);
    p.call.pool().for_chunks(s_.batch, s_.piece(), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = 0; i < s_.steps; ++i) {
        p.call.check_cancelled();
        step(p, d, i, first, last, z, h, c);
      }
    });
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      if (C* to = y_h_.data(p.call)) std::copy_n(h + b * hidden, hidden, to + s_.state(d, b));
      if (C* to = y_c_.data(p.call)) std::copy_n(c + b * hidden, hidden, to + s_.state(d, b));
    }
  }

  void run_steps(const Pointers& p, std::int64_t d, const C* w, const C* r) const {
    const std::int64_t n = s_.hidden;
    const typename LstmSteps<C>::Call call{.x = p.x,
                                           .w = w,
                                           .r = r,
                                           .bias = p.bias,
                                           .h = p.h0 != nullptr ? at(p, h_) : nullptr,
                                           .c = at(p, c_),
                                           .y = p.y,
                                           .z = p.z + d * s_.rows() * kept_,
                                           .cells = p.cells + d * s_.rows() * n};
    steps_.run(p.call, d, call);
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      const bool none = s_.steps == 0;
      const C* h = none ? at(p, h_) + b * n : steps_.last_h(p.call, d, call, b);
      const C* c = none ? at(p, c_) + b * n : steps_.last_c(d, call, b);
      if (C* to = y_h_.data(p.call)) std::copy_n(h, n, to + s_.state(d, b));
      if (C* to = y_c_.data(p.call)) std::copy_n(c, n, to + s_.state(d, b));
    }
  }

  void add_biases(Pointers& p, std::int64_t d) const {
    const std::int64_t width = s_.width();
    const C* own = p.b + d * 2 * width;
    C* bias = at(p, bias_);
    for (std::int64_t k = 0; k < width; ++k) {
      const bool apart = s_.gates == 3 && s_.linear_before_reset && k >= 2 * s_.hidden;
      bias[k] = own[k] + (apart ? C{0} : own[width + k]);
    }
    p.bias = bias;
  }

  void start(const C* initial, std::int64_t d, std::int64_t b, C* state) const {
    C* to = state + b * s_.hidden;
    if (initial == nullptr) {
      std::fill_n(to, s_.hidden, C{0});
    } else {
      std::copy_n(initial + s_.state(d, b), s_.hidden, to);
    }
  }

  // The i-th computed step of the samples from `first` to `last`.
  void step(const Pointers& p, std::int64_t d, std::int64_t i, std::int64_t first,
            std::int64_t last, C* z, C* h, C* c) const {
    const std::int64_t n = s_.hidden;
    const std::int64_t t = s_.step(d, i);
    const std::int64_t samples = last - first;
    const C* hs = h + first * n;
    C* zs = z + s_.row(t, first) * kept_;
    const std::int64_t ld = s_.sample_stride() * kept_;
    if (each_input_) {
      input_product_.run(p.call, p.input_matrix, first, samples, p.x + s_.row(t, first) * s_.input,
                         s_.sample_stride() * s_.input, zs, ld, false, p.bias);
    }
    if (s_.gates == 3) {
      product_.run(p.call, p.matrix, first, samples, hs, n, at(p, u_) + first * s_.width(),
                   s_.width(), false);
    } else {
      product_.run(p.call, p.matrix, first, samples, hs, n, zs, ld, true);
    }
    const std::int64_t grain =
        std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, s_.width()));
    const auto rows = [&](auto&& body) {
      p.call.pool().for_chunks(samples, grain, [&](std::int64_t from, std::int64_t to) {
        for (auto b = first + from; b < first + to; ++b) body(b, z + s_.row(t, b) * kept_);
      });
    };
    if (reset_first()) {
      rows([&](std::int64_t b, C* zb) { reset(p, d, b, zb, h); });
      last_product_.run(p.call, p.last_matrix, first, samples, at(p, reset_) + first * n, n,
                        at(p, u_) + first * s_.width() + 2 * n, s_.width(), false);
    }
    rows([&](std::int64_t b, C* zb) { cell(p, d, t, b, zb, h + b * n, c + b * n); });
  }

  void cell(const Pointers& p, std::int64_t d, std::int64_t t, std::int64_t b, C* z, C* h,
            C* c) const {
    const bool valid = p.lengths == nullptr || t < p.lengths[b];
    if (valid) {
      if (usual_) {
        math::cell_kernels<C>().lstm(z, c, h, s_.hidden);
      } else if (lstm_) {
        lstm(p, d, b, z, h, c);
      } else if (s_.gates == 3) {
        gru(p, d, b, z, h);
      } else {
        s_.activation(d, 0).apply(z, h, s_.hidden);
      }
    }
    if (p.y != nullptr) {
      C* to = p.y + s_.y(d, t, b);
      if (valid) {
        std::copy_n(h, s_.hidden, to);
      } else {
        std::fill_n(to, s_.hidden, C{0});
      }
    }
    if (lstm_) std::copy_n(c, s_.hidden, p.cells + (d * s_.rows() + s_.row(t, b)) * s_.hidden);
  }

  static void add(C* to, const C* from, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) to[i] += from[i];
  }

  // r h into the scratch memory for the product with R_h.
  void reset(const Pointers& p, std::int64_t d, std::int64_t b, C* z, const C* h) const {
    const std::int64_t n = s_.hidden;
    add(z, at(p, u_) + b * s_.width(), 2 * n);
    C* to = at(p, reset_) + b * n;
    s_.activation(d, 0).apply(z + n, to, n);
    for (std::int64_t i = 0; i < n; ++i) to[i] *= h[b * n + i];
  }

  void gru(const Pointers& p, std::int64_t d, std::int64_t b, C* z, C* h) const {
    const std::int64_t n = s_.hidden;
    const C* u = at(p, u_) + b * s_.width();
    C* update = at(p, rows_) + b * 5 * n;
    C* other = update + n;
    if (s_.linear_before_reset) {
      add(z, u, 2 * n);
      C* linear = z + 3 * n;
      const C* bias = p.b != nullptr ? p.b + (d * 2 + 1) * s_.width() + 2 * n : nullptr;
      s_.activation(d, 0).apply(z + n, other, n);
      for (std::int64_t i = 0; i < n; ++i) {
        linear[i] = u[2 * n + i] + (bias != nullptr ? bias[i] : C{0});
        z[2 * n + i] += other[i] * linear[i];
      }
    } else {
      add(z + 2 * n, u + 2 * n, n);
      std::copy_n(at(p, reset_) + b * n, n, z + 3 * n);
    }
    s_.activation(d, 0).apply(z, update, n);
    s_.activation(d, 1).apply(z + 2 * n, other, n);
    for (std::int64_t i = 0; i < n; ++i) h[i] = (1 - update[i]) * other[i] + update[i] * h[i];
  }

  void lstm(const Pointers& p, std::int64_t d, std::int64_t b, C* z, C* h, C* c) const {
    const std::int64_t n = s_.hidden;
    C* in = at(p, rows_) + b * 5 * n;
    C* out = in + n;
    C* forget = in + 2 * n;
    C* cell = in + 3 * n;
    const C* peephole = p.p != nullptr ? p.p + d * 3 * n : nullptr;
    for (std::int64_t i = 0; peephole != nullptr && i < n; ++i) {
      z[i] += peephole[i] * c[i];
      z[2 * n + i] += peephole[2 * n + i] * c[i];
    }
    s_.activation(d, 0).apply(z, in, n);
    s_.activation(d, 0).apply(z + 2 * n, forget, n);
    s_.activation(d, 1).apply(z + 3 * n, cell, n);
    for (std::int64_t i = 0; i < n; ++i) {
      const C keep = s_.input_forget ? 1 - in[i] : forget[i];
      c[i] = keep * c[i] + in[i] * cell[i];
      if (peephole != nullptr) z[n + i] += peephole[n + i] * c[i];
    }
    s_.activation(d, 0).apply(z + n, out, n);
    CellActivation last = s_.activation(d, 2);
    last.clip = 0;  // clip bounds the gates
    last.apply(c, h, n);
    for (std::int64_t i = 0; i < n; ++i) h[i] *= out[i];
  }

  Scratch scratch_;
  Recurrence s_;
  std::int64_t kept_;
  bool lstm_;
  bool usual_;
  ComputeIn<C> x_, w_, r_, b_, h0_, c0_, p_;
  ComputeOut<C> y_, y_h_, y_c_, z_, cells_;
  LstmSteps<C> steps_;
  bool each_input_;  // multiplied in the step; else for all steps at once
  StepProduct<C> input_product_, product_, last_product_;
  bool has_lengths_ = false;
  std::size_t bias_ = 0, h_ = 0, c_ = 0, u_ = 0, reset_ = 0, rows_ = 0, work_ = 0;
  std::size_t work_bytes_ = 0;
};

}  // namespace

Kernel bind_recurrent(BindContext& context) {
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    return [forward = Forward<C>(context)](KernelContext& call) { forward(call); };
  });
}

}  // namespace ondine::kernels
