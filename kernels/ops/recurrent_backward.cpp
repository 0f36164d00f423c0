#include <algorithm>

#include "kernels/math/cell.h"
#include "kernels/ops/recurrent.h"
#include "kernels/ops/recurrent_forward.h"
#include "kernels/ops/wide.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

// Through time from the last step to the first. G holds, in the order of the rows of Z, the
// derivatives by the inputs of the activations; GRU has in a fourth part that by R_h h + Rb_h
// (linear_before_reset). The derivatives by X, W and R are one product each of G at the end.
template <class C>
class Backward {
 public:
  explicit Backward(BindContext& context)
      : s_(read_recurrence(context, context.shape(0), context.shape(2))),
        kept_(saved_width(context) * s_.hidden),
        lstm_(s_.gates == 4),
        usual_(s_.usual_lstm()),
        gru_(s_.gates == 3),
        x_(context, scratch_, 0),
        w_(context, scratch_, 1),
        r_(context, scratch_, 2),
        h0_(context, scratch_, 5),
        c0_(context, scratch_, 6),
        p_(context, scratch_, 7),
        y_(context, scratch_, 8),
        z_(context, scratch_, 9),
        cells_(context, scratch_, 10),
        dy_(context, scratch_, 11),
        dy_h_(context, scratch_, 12),
        dy_c_(context, scratch_, 13),
        dx_(context, scratch_, 0, s_.rows() * s_.input),
        dw_(context, scratch_, 1, s_.directions * s_.width() * s_.input),
        dr_(context, scratch_, 2, s_.directions * s_.width() * s_.hidden),
        db_(context, scratch_, 3, s_.directions * s_.width() * 2),
        dh0_(context, scratch_, 4, s_.directions * s_.batch * s_.hidden),
        dc0_(context, scratch_, 5, s_.directions * s_.batch * s_.hidden),
        dp_(context, scratch_, 6, s_.directions * s_.hidden * 3) {
    has_lengths_ = context.has_input(4);
    const std::int64_t state = s_.batch * s_.hidden;
    g_ = scratch_.add<C>(s_.rows() * kept_);
    before_ = scratch_.add<C>(s_.rows() * s_.hidden);
    dh_ = scratch_.add<C>(state);
    dc_ = scratch_.add<C>(state);
    reset_ = scratch_.add<C>(state);
    rows_ = scratch_.add<C>(s_.batch * 6 * s_.hidden);
    const auto need = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
      for (const bool ta : {false, true}) {
        const math::GemmShape shape{.m = m, .n = n, .k = k, .trans_a = ta};
        work_bytes_ = std::max(work_bytes_, math::gemm_workspace<C>(shape, 1, context.threads()));
      }
    };
    need(s_.rows(), s_.input, s_.width());
    need(s_.width(), s_.input, s_.rows());
    need(s_.width(), s_.hidden, s_.rows());
    need(s_.batch, s_.hidden, s_.width());
    work_ = scratch_.add_bytes(work_bytes_);
    scratch_.request(context);
  }

  void operator()(KernelContext& call) const {
    Pointers p{call,        x_(call),
               w_(call),    r_(call),
               h0_(call),   c0_(call),
               p_(call),    y_(call),
               z_(call),    cells_(call),
               dy_(call),   dy_h_(call),
               dy_c_(call), has_lengths_ ? call.in<std::int32_t>(4) : nullptr};
    for (std::int64_t d = 0; d < s_.directions; ++d) run(p, d);
    dx_.store(call);
    dw_.store(call);
    dr_.store(call);
    db_.store(call);
    dh0_.store(call);
    dc0_.store(call);
    dp_.store(call);
  }

 private:
  struct Pointers {
    KernelContext& call;
    const C *x, *w, *r, *h0, *c0, *p, *y, *z, *cells, *dy, *dy_h, *dy_c;
    const std::int32_t* lengths;
  };
  C* at(const Pointers& p, std::size_t offset) const { return Scratch::at<C>(p.call, offset); }
  math::Workspace workspace(const Pointers& p) const {
    return {Scratch::at<std::byte>(p.call, work_), work_bytes_};
  }
  bool valid(const Pointers& p, std::int64_t t, std::int64_t b) const {
    return p.lengths == nullptr || t < p.lengths[b];
  }

  void run(const Pointers& p, std::int64_t d) const {
    const std::int64_t n = s_.hidden;
    C* dh = at(p, dh_);
    C* dc = at(p, dc_);
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      load(p.dy_h, s_.state(d, b), dh + b * n);
      load(p.dy_c, s_.state(d, b), dc + b * n);
    }
    for (std::int64_t i = s_.steps; i-- > 0;) {
      p.call.check_cancelled();
      step(p, d, i, dh, dc);
    }
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      if (C* to = dh0_.data(p.call)) std::copy_n(dh + b * n, n, to + s_.state(d, b));
      if (C* to = dc0_.data(p.call)) std::copy_n(dc + b * n, n, to + s_.state(d, b));
    }
    products(p, d);
    if (C* db = db_.data(p.call)) bias(p, db + d * 2 * s_.width());
    if (C* dp = dp_.data(p.call)) peephole(p, d, dp + d * 3 * n);
  }

  void load(const C* from, std::int64_t offset, C* to) const {
    if (from == nullptr) {
      std::fill_n(to, s_.hidden, C{0});
    } else {
      std::copy_n(from + offset, s_.hidden, to);
    }
  }

  // The state before the i-th computed step: what the step before left, or the initial one.
  void before(const Pointers& p, std::int64_t d, std::int64_t i, std::int64_t b, C* h) const {
    const bool first = i == 0 || !valid(p, s_.step(d, i - 1), b);
    if (first) return load(p.h0, s_.state(d, b), h);
    std::copy_n(p.y + s_.y(d, s_.step(d, i - 1), b), s_.hidden, h);
  }

  void step(const Pointers& p, std::int64_t d, std::int64_t i, C* dh, C* dc) const {
    const std::int64_t n = s_.hidden;
    const std::int64_t t = s_.step(d, i);
    C* g = at(p, g_);
    C* previous = at(p, before_);
    C* rest = at(p, reset_);  // of dh, what does not pass through a product
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      const std::int64_t row = s_.row(t, b);
      C* gb = g + row * kept_;
      C* hb = previous + row * n;
      before(p, d, i, b, hb);
      if (!valid(p, t, b)) {
        std::fill_n(gb, kept_, C{0});
        std::copy_n(dh + b * n, n, rest + b * n);
        continue;
      }
      if (p.dy != nullptr) add(dh + b * n, p.dy + s_.y(d, t, b), n);
      std::fill_n(rest + b * n, n, C{0});
      const C* z = p.z + (d * s_.rows() + row) * kept_;
      if (lstm_) {
        lstm(p, d, i, b, z, dh + b * n, dc + b * n, gb);
      } else if (gru_) {
        gru(p, d, b, z, hb, dh + b * n, gb, rest + b * n);
      } else {
        C* h = at(p, rows_) + b * 6 * n;
        s_.activation(d, 0).apply(z, h, n);
        s_.activation(d, 0).gradient(z, h, dh + b * n, gb, n);
      }
    }
    if (gru_ && !s_.linear_before_reset) back_through_reset(p, d, t, rest);
    back_through_r(p, d, t, dh);
    for (std::int64_t k = 0; k < s_.batch * n; ++k) dh[k] += rest[k];
  }

  std::int64_t g_stride() const { return s_.batch_first ? s_.steps * kept_ : kept_; }

  // GRU without linear_before_reset: R_h saw r h, whose derivative is G_h R_h.
  void back_through_reset(const Pointers& p, std::int64_t d, std::int64_t t, C* rest) const {
    const std::int64_t n = s_.hidden;
    if (s_.batch == 0) return;
    C* g = at(p, g_) + s_.row(t, 0) * kept_;
    C* kept = at(p, rows_);  // of each sample: update, reset, candidate, and now the product
    math::gemm<C>(p.call.pool(), {.m = s_.batch, .n = n, .k = n, .lda = g_stride(), .ldc = 6 * n},
                  g + 2 * n, p.r + (d * s_.width() + 2 * n) * n, kept + 3 * n, {}, workspace(p));
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      if (!valid(p, t, b)) continue;
      const std::int64_t row = s_.row(t, b);
      const C* h = at(p, before_) + row * n;
      const C* reset = kept + b * 6 * n + n;
      const C* product = kept + b * 6 * n + 3 * n;
      C* gb = g + b * g_stride();
      for (std::int64_t k = 0; k < n; ++k) {
        rest[b * n + k] += product[k] * reset[k];
        gb[n + k] = product[k] * h[k];
        gb[3 * n + k] = 0;
      }
      const C* z = p.z + (d * s_.rows() + row) * kept_;
      s_.activation(d, 0).gradient(z + n, reset, gb + n, gb + n, n);
    }
  }

  // dh = G_t R; for GRU without linear_before_reset the last gate went before.
  void back_through_r(const Pointers& p, std::int64_t d, std::int64_t t, C* dh) const {
    if (s_.batch == 0) return;
    const C* r = p.r + d * s_.width() * s_.hidden;
    const C* g = at(p, g_) + s_.row(t, 0) * kept_;
    const std::int64_t ld = g_stride();
    const std::int64_t k = gru_ ? 2 * s_.hidden : s_.width();
    math::gemm<C>(p.call.pool(), {.m = s_.batch, .n = s_.hidden, .k = k, .lda = ld}, g, r, dh, {},
                  workspace(p));
    if (!gru_ || !s_.linear_before_reset) return;
    const math::GemmOptions<C> onto{.alpha = 1, .beta = 1};
    math::gemm<C>(p.call.pool(), {.m = s_.batch, .n = s_.hidden, .k = s_.hidden, .lda = ld},
                  g + 3 * s_.hidden, r + 2 * s_.hidden * s_.hidden, dh, onto, workspace(p));
  }

  static void add(C* to, const C* from, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) to[i] += from[i];
  }

  void lstm(const Pointers& p, std::int64_t d, std::int64_t i, std::int64_t b, const C* z,
            const C* dh, C* dc, C* g) const {
    const std::int64_t n = s_.hidden;
    const std::int64_t t = s_.step(d, i);
    const C* c = p.cells + (d * s_.rows() + s_.row(t, b)) * n;
    if (usual_ && i > 0) {
      const C* before = p.cells + (d * s_.rows() + s_.row(s_.step(d, i - 1), b)) * n;
      return math::cell_kernels<C>().lstm_gradient(z, before, c, dh, dc, g, n);
    }
    C* in = at(p, rows_) + b * 6 * n;
    C* out = in + n;
    C* forget = in + 2 * n;
    C* cell = in + 3 * n;
    C* shown = in + 4 * n;
    C* old = in + 5 * n;
    if (i == 0) {
      load(p.c0, s_.state(d, b), old);
    } else {
      std::copy_n(p.cells + (d * s_.rows() + s_.row(s_.step(d, i - 1), b)) * n, n, old);
    }
    if (usual_) return math::cell_kernels<C>().lstm_gradient(z, old, c, dh, dc, g, n);
    const CellActivation& f = s_.activation(d, 0);
    CellActivation last = s_.activation(d, 2);
    last.clip = 0;
    f.apply(z, in, n);
    f.apply(z + n, out, n);
    f.apply(z + 2 * n, forget, n);
    s_.activation(d, 1).apply(z + 3 * n, cell, n);
    last.apply(c, shown, n);
    const C* peep = p.p != nullptr ? p.p + d * 3 * n : nullptr;
    // g first takes the derivatives by the gates, in Z's order.
    for (std::int64_t k = 0; k < n; ++k) g[k] = dh[k] * out[k];
    last.gradient(c, shown, g, g, n);
    add(dc, g, n);
    for (std::int64_t k = 0; k < n; ++k) g[n + k] = dh[k] * shown[k];
    f.gradient(z + n, out, g + n, g + n, n);
    for (std::int64_t k = 0; k < n; ++k) {
      if (peep != nullptr) dc[k] += peep[n + k] * g[n + k];
      const C keep = s_.input_forget ? 1 - in[k] : forget[k];
      const C by_forget = dc[k] * old[k];
      g[k] = dc[k] * cell[k] - (s_.input_forget ? by_forget : C{0});
      g[2 * n + k] = s_.input_forget ? C{0} : by_forget;
      g[3 * n + k] = dc[k] * in[k];
      dc[k] *= keep;
    }
    f.gradient(z, in, g, g, n);
    f.gradient(z + 2 * n, forget, g + 2 * n, g + 2 * n, n);
    s_.activation(d, 1).gradient(z + 3 * n, cell, g + 3 * n, g + 3 * n, n);
    for (std::int64_t k = 0; peep != nullptr && k < n; ++k) {
      dc[k] += peep[k] * g[k] + peep[2 * n + k] * g[2 * n + k];
    }
  }

  // `rest`: what reaches h past R: through the update gate. Without linear_before_reset the reset
  // gate follows in back_through_reset.
  void gru(const Pointers& p, std::int64_t d, std::int64_t b, const C* z, const C* h, const C* dh,
           C* g, C* rest) const {
    const std::int64_t n = s_.hidden;
    C* update = at(p, rows_) + b * 6 * n;
    C* reset = update + n;
    C* candidate = update + 2 * n;
    const CellActivation& f = s_.activation(d, 0);
    f.apply(z, update, n);
    f.apply(z + n, reset, n);
    s_.activation(d, 1).apply(z + 2 * n, candidate, n);
    for (std::int64_t k = 0; k < n; ++k) {
      g[k] = dh[k] * (h[k] - candidate[k]);
      g[2 * n + k] = dh[k] * (1 - update[k]);
      rest[k] = dh[k] * update[k];
    }
    f.gradient(z, update, g, g, n);
    s_.activation(d, 1).gradient(z + 2 * n, candidate, g + 2 * n, g + 2 * n, n);
    if (!s_.linear_before_reset) return;
    for (std::int64_t k = 0; k < n; ++k) {
      g[n + k] = g[2 * n + k] * z[3 * n + k];
      g[3 * n + k] = g[2 * n + k] * reset[k];
    }
    f.gradient(z + n, reset, g + n, g + n, n);
  }

  void products(const Pointers& p, std::int64_t d) const {
    const std::int64_t rows = s_.rows();
    const std::int64_t n = s_.hidden;
    const C* g = at(p, g_);
    if (C* dx = dx_.data(p.call)) {
      const math::GemmOptions<C> options{.alpha = 1, .beta = d == 0 ? C{0} : C{1}};
      math::gemm<C>(p.call.pool(), {.m = rows, .n = s_.input, .k = s_.width(), .lda = kept_}, g,
                    p.w + d * s_.width() * s_.input, dx, options, workspace(p));
    }
    if (C* dw = dw_.data(p.call)) {
      math::gemm<C>(p.call.pool(),
                    {.m = s_.width(), .n = s_.input, .k = rows, .trans_a = true, .lda = kept_}, g,
                    p.x, dw + d * s_.width() * s_.input, {}, workspace(p));
    }
    C* dr = dr_.data(p.call);
    if (dr == nullptr) return;
    dr += d * s_.width() * n;
    const std::int64_t plain = gru_ ? 2 * n : s_.width();
    const C* before = at(p, before_);
    math::gemm<C>(p.call.pool(), {.m = plain, .n = n, .k = rows, .trans_a = true, .lda = kept_}, g,
                  before, dr, {}, workspace(p));
    if (!gru_) return;
    // R_h multiplies h, or r h, which Z keeps in its fourth part.
    const bool linear = s_.linear_before_reset;
    math::gemm<C>(
        p.call.pool(),
        {.m = n, .n = n, .k = rows, .trans_a = true, .lda = kept_, .ldb = linear ? n : kept_},
        g + (linear ? 3 : 2) * n, linear ? before : p.z + d * rows * kept_ + 3 * n, dr + 2 * n * n,
        {}, workspace(p));
  }

  void bias(const Pointers& p, C* db) const {
    const std::int64_t width = s_.width();
    const C* g = at(p, g_);
    math::column_sums<C>(p.call.pool(), db, g, s_.rows(), width, kept_);
    std::copy_n(db, width, db + width);
    if (!gru_ || !s_.linear_before_reset) return;
    math::column_sums<C>(p.call.pool(), db + width + 2 * s_.hidden, g + 3 * s_.hidden, s_.rows(),
                         s_.hidden, kept_);
  }

  void peephole(const Pointers& p, std::int64_t d, C* dp) const {
    const std::int64_t n = s_.hidden;
    const C* g = at(p, g_);
    C* old = at(p, rows_);
    std::fill_n(dp, 3 * n, C{0});
    if (p.p == nullptr) return;
    for (std::int64_t i = 0; i < s_.steps; ++i) {
      for (std::int64_t b = 0; b < s_.batch; ++b) {
        const std::int64_t row = s_.row(s_.step(d, i), b);
        const C* cells = p.cells + d * s_.rows() * n;
        if (i == 0) {
          load(p.c0, s_.state(d, b), old);
        } else {
          std::copy_n(cells + s_.row(s_.step(d, i - 1), b) * n, n, old);
        }
        const C* gb = g + row * kept_;
        for (std::int64_t k = 0; k < n; ++k) {
          dp[k] += gb[k] * old[k];
          dp[n + k] += gb[n + k] * cells[row * n + k];
          dp[2 * n + k] += gb[2 * n + k] * old[k];
        }
      }
    }
  }

  Scratch scratch_;
  Recurrence s_;
  std::int64_t kept_;
  bool lstm_;
  bool usual_;
  bool gru_;
  WideIn<C> x_, w_, r_, h0_, c0_, p_, y_, z_, cells_, dy_, dy_h_, dy_c_;
  WideOut<C> dx_, dw_, dr_, db_, dh0_, dc0_, dp_;
  bool has_lengths_ = false;
  std::size_t g_ = 0, before_ = 0, dh_ = 0, dc_ = 0, reset_ = 0, rows_ = 0, work_ = 0;
  std::size_t work_bytes_ = 0;
};

}  // namespace

Kernel bind_recurrent_gradient(BindContext& context) {
  return visit_wide(context.dtype(0), [&]<class C>() -> Kernel {
    return [backward = Backward<C>(context)](KernelContext& call) { backward(call); };
  });
}

}  // namespace ondine::kernels
