#include <algorithm>

#include "kernels/common/compute_type.h"
#include "kernels/recurrent/lstm_cell.h"
#include "kernels/recurrent/recurrent_attributes.h"
#include "kernels/recurrent/recurrent_cells.h"
#include "kernels/recurrent/recurrent_forward.h"
#include "kernels/recurrent/recurrent_product.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

// Through time from the last step to the first, in blocks of steps. G holds, in the order of the
// rows of Z, a block's derivatives by the inputs of the activations; GRU has in a fourth part that
// by R_h h + Rb_h (linear_before_reset). From G follow what the block adds to the derivatives by W,
// R, B and P, and those by its rows of X.
template <class C>
class Backward {
 public:
  explicit Backward(BindContext& context)
      : s_(read_recurrence(context, context.shape(0), context.shape(2))),
        kept_(saved_width(context) * s_.hidden),
        lstm_(s_.gates == 4),
        usual_(s_.is_standard_lstm()),
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
        dp_(context, scratch_, 6, s_.directions * s_.hidden * 3),
        product_(context, scratch_, s_, s_.hidden, (gru_ ? 2 : s_.gates) * s_.hidden, false),
        last_product_(context, scratch_, s_, s_.hidden, gru_ ? s_.hidden : 0, false) {
    has_lengths_ = context.has_input(4);
    const std::int64_t state = s_.batch * s_.hidden;
    const std::int64_t most = std::min(s_.block_steps(), s_.steps) * s_.batch;
    g_ = scratch_.add<C>(most * kept_);
    before_ = scratch_.add<C>(most * s_.hidden);
    sums_ = scratch_.add<C>(kept_);
    dh_ = scratch_.add<C>(state);
    dc_ = scratch_.add<C>(state);
    reset_ = scratch_.add<C>(state);
    rows_ = scratch_.add<C>(s_.batch * 6 * s_.hidden);
    const auto need = [&](std::int64_t m, std::int64_t n, std::int64_t k, bool trans_a) {
      const math::GemmShape shape{.m = m, .n = n, .k = k, .trans_a = trans_a};
      work_bytes_ = std::max(work_bytes_, math::gemm_workspace<C>(shape, 1, context.threads()));
    };
    for (const std::int64_t rows : {most, s_.steps % s_.block_steps() * s_.batch}) {
      need(rows, s_.input, s_.width(), false);
      need(s_.width(), s_.input, rows, true);
      need((gru_ ? 2 : s_.gates) * s_.hidden, s_.hidden, rows, true);
      need(s_.hidden, s_.hidden, rows, true);
    }
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
    const C* matrix = nullptr;       // of product_
    const C* last_matrix = nullptr;  // of last_product_
  };
  // Computed steps [first, last), which are [start, start + last - first) in X.
  struct Block {
    std::int64_t first, last, start;
  };
  C* at(const Pointers& p, std::size_t offset) const { return Scratch::at<C>(p.call, offset); }
  // Rows of the block before that of (t, b).
  std::int64_t place(const Block& block, std::int64_t t, std::int64_t b) const {
    return s_.row(t, b) - block.start * s_.batch;
  }
  C* g(const Pointers& p, const Block& block, std::int64_t t, std::int64_t b) const {
    return at(p, g_) + place(block, t, b) * kept_;
  }
  C* earlier(const Pointers& p, const Block& block, std::int64_t t, std::int64_t b) const {
    return at(p, before_) + place(block, t, b) * s_.hidden;
  }
  math::Workspace workspace(const Pointers& p) const {
    return {Scratch::at<std::byte>(p.call, work_), work_bytes_};
  }
  bool valid(const Pointers& p, std::int64_t t, std::int64_t b) const {
    return p.lengths == nullptr || t < p.lengths[b];
  }

  void run(Pointers& p, std::int64_t d) const {
    const std::int64_t n = s_.hidden;
    C* dh = at(p, dh_);
    C* dc = at(p, dc_);
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      load(p.dy_h, s_.state(d, b), dh + b * n);
      load(p.dy_c, s_.state(d, b), dc + b * n);
    }
    const C* r = p.r + d * s_.width() * n;
    p.matrix = product_.prepare(p.call, r);
    if (gru_) p.last_matrix = last_product_.prepare(p.call, r + 2 * n * n);
    std::int64_t last = s_.steps;
    do {
      const std::int64_t first = std::max<std::int64_t>(0, last - s_.block_steps());
      const Block block{first, last, s_.backwards(d) ? s_.steps - last : first};
      p.call.pool().for_chunks(s_.batch, s_.piece(), [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t i = last; i-- > first;) {
          p.call.check_cancelled();
          step(p, d, block, i, from, to, dh, dc);
        }
      });
      products(p, d, block);
      if (C* db = db_.data(p.call)) bias(p, block, db + d * 2 * s_.width());
      if (C* dp = dp_.data(p.call)) peephole(p, d, block, dp + d * 3 * n);
      last = first;
    } while (last > 0);
    for (std::int64_t b = 0; b < s_.batch; ++b) {
      if (C* to = dh0_.data(p.call)) std::copy_n(dh + b * n, n, to + s_.state(d, b));
      if (C* to = dc0_.data(p.call)) std::copy_n(dc + b * n, n, to + s_.state(d, b));
    }
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

  // Back through the i-th computed step of the samples from `first` to `last`.
  void step(const Pointers& p, std::int64_t d, const Block& block, std::int64_t i,
            std::int64_t first, std::int64_t last, C* dh, C* dc) const {
    const std::int64_t n = s_.hidden;
    const std::int64_t t = s_.step(d, i);
    C* rest = at(p, reset_);  // of dh, what does not pass through a product
    const bool passes = gru_ || p.lengths != nullptr;
    for (std::int64_t b = first; b < last; ++b) {
      if (passes) std::fill_n(rest + b * n, n, C{0});
      cell(p, d, block, i, b, dh + b * n, dc + b * n, rest + b * n);
    }
    if (gru_ && !s_.linear_before_reset) back_through_reset(p, d, block, t, first, last, rest);
    back_through_r(p, block, t, first, last, dh);
    if (passes) add(dh + first * n, rest + first * n, (last - first) * n);
  }

  void cell(const Pointers& p, std::int64_t d, const Block& block, std::int64_t i, std::int64_t b,
            C* dh, C* dc, C* rest) const {
    const std::int64_t n = s_.hidden;
    const std::int64_t t = s_.step(d, i);
    const std::int64_t row = s_.row(t, b);
    C* to = g(p, block, t, b);
    C* h = earlier(p, block, t, b);
    before(p, d, i, b, h);
    if (!valid(p, t, b)) {
      std::fill_n(to, kept_, C{0});
      std::copy_n(dh, n, rest);
      return;
    }
    if (p.dy != nullptr && !usual_) add(dh, p.dy + s_.y(d, t, b), n);
    const C* z = p.z + (d * s_.rows() + row) * kept_;
    if (lstm_) {
      lstm(p, d, i, b, z, dh, dc, to);
    } else if (gru_) {
      gru_cell_gradient(s_, d, z, h, dh, to, rest, at(p, rows_) + b * 6 * n);
    } else {
      C* y = at(p, rows_) + b * 6 * n;
      s_.activation(d, 0).apply(z, y, n);
      s_.activation(d, 0).gradient(z, y, dh, to, n);
    }
  }

  std::int64_t g_stride() const { return s_.sample_stride() * kept_; }

  // GRU without linear_before_reset: R_h saw r h, whose derivative is G_h R_h.
  void back_through_reset(const Pointers& p, std::int64_t d, const Block& block, std::int64_t t,
                          std::int64_t first, std::int64_t last, C* rest) const {
    const std::int64_t n = s_.hidden;
    C* kept = at(p, rows_);  // of each sample: update, reset, candidate, and now the product
    last_product_.run(p.call, p.last_matrix, first, last - first, g(p, block, t, first) + 2 * n,
                      g_stride(), kept + first * 6 * n + 3 * n, 6 * n, false);
    for (std::int64_t b = first; b < last; ++b) {
      if (!valid(p, t, b)) continue;
      const std::int64_t row = s_.row(t, b);
      const C* h = earlier(p, block, t, b);
      const C* reset = kept + b * 6 * n + n;
      const C* product = kept + b * 6 * n + 3 * n;
      C* gb = g(p, block, t, b);
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
  void back_through_r(const Pointers& p, const Block& block, std::int64_t t, std::int64_t first,
                      std::int64_t last, C* dh) const {
    const std::int64_t n = s_.hidden;
    const C* gs = g(p, block, t, first);
    product_.run(p.call, p.matrix, first, last - first, gs, g_stride(), dh + first * n, n, false);
    if (!gru_ || !s_.linear_before_reset) return;
    last_product_.run(p.call, p.last_matrix, first, last - first, gs + 3 * n, g_stride(),
                      dh + first * n, n, true);
  }

  static void add(C* to, const C* from, std::int64_t n) {
    math::vector_kernels<C>().axpy(to, C{1}, from, n);
  }

  void lstm(const Pointers& p, std::int64_t d, std::int64_t i, std::int64_t b, const C* z,
            const C* dh, C* dc, C* g) const {
    const std::int64_t n = s_.hidden;
    const C* c = p.cells + (d * s_.rows() + s_.row(s_.step(d, i), b)) * n;
    C* rows = at(p, rows_) + b * 6 * n;
    const C* old = cells_before(p, d, i, b, rows + 5 * n);
    if (usual_) {
      const C* dy = p.dy != nullptr ? p.dy + s_.y(d, s_.step(d, i), b) : nullptr;
      math::LstmGradient<C> row{
          .n = n, .z = z, .old = old, .c = c, .dh = dh, .dy = dy, .dc = dc, .dz = g};
      if (i > 0) {
        const std::int64_t next = s_.step(d, i - 1);
        row.next_z = p.z + (d * s_.rows() + s_.row(next, b)) * kept_;
        if (p.dy != nullptr) row.next_dy = p.dy + s_.y(d, next, b);
        if (i > 1) row.next_old = p.cells + (d * s_.rows() + s_.row(s_.step(d, i - 2), b)) * n;
      }
      return math::cell_kernels<C>().lstm_gradient(row);
    }
    lstm_cell_gradient(s_, d, z, old, c, p.p != nullptr ? p.p + d * 3 * n : nullptr, dh, dc, g,
                       rows);
  }

  // What the step before left, or the initial cells, perhaps in `memory`.
  const C* cells_before(const Pointers& p, std::int64_t d, std::int64_t i, std::int64_t b,
                        C* memory) const {
    if (i > 0) return p.cells + (d * s_.rows() + s_.row(s_.step(d, i - 1), b)) * s_.hidden;
    load(p.c0, s_.state(d, b), memory);
    return memory;
  }

  void products(const Pointers& p, std::int64_t d, const Block& block) const {
    const std::int64_t rows = (block.last - block.first) * s_.batch;
    const std::int64_t before = block.start * s_.batch;
    const std::int64_t n = s_.hidden;
    const C* g = at(p, g_);
    math::GemmOptions<C> options{.beta = d == 0 ? C{0} : C{1}};
    if (C* dx = dx_.data(p.call)) {
      math::gemm<C>(p.call.pool(), {.m = rows, .n = s_.input, .k = s_.width(), .lda = kept_}, g,
                    p.w + d * s_.width() * s_.input, dx + before * s_.input, options, workspace(p));
    }
    options.beta = block.last == s_.steps ? C{0} : C{1};
    if (C* dw = dw_.data(p.call)) {
      math::gemm<C>(p.call.pool(),
                    {.m = s_.width(), .n = s_.input, .k = rows, .trans_a = true, .lda = kept_}, g,
                    p.x + before * s_.input, dw + d * s_.width() * s_.input, options, workspace(p));
    }
    C* dr = dr_.data(p.call);
    if (dr == nullptr) return;
    dr += d * s_.width() * n;
    const std::int64_t plain = gru_ ? 2 * n : s_.width();
    const C* h = at(p, before_);
    math::gemm<C>(p.call.pool(), {.m = plain, .n = n, .k = rows, .trans_a = true, .lda = kept_}, g,
                  h, dr, options, workspace(p));
    if (!gru_) return;
    // R_h multiplies h, or r h, which Z keeps in its fourth part.
    const bool linear = s_.linear_before_reset;
    const C* z = p.z + (d * s_.rows() + before) * kept_;
    math::gemm<C>(
        p.call.pool(),
        {.m = n, .n = n, .k = rows, .trans_a = true, .lda = kept_, .ldb = linear ? n : kept_},
        g + (linear ? 3 : 2) * n, linear ? h : z + 3 * n, dr + 2 * n * n, options, workspace(p));
  }

  void bias(const Pointers& p, const Block& block, C* db) const {
    const std::int64_t width = s_.width();
    C* sums = at(p, sums_);
    if (block.last == s_.steps) std::fill_n(db, 2 * width, C{0});
    math::column_sums<C>(p.call.pool(), sums, at(p, g_), (block.last - block.first) * s_.batch,
                         kept_, kept_);
    add(db, sums, width);
    if (gru_ && s_.linear_before_reset) {
      add(db + width, sums, 2 * s_.hidden);
      add(db + width + 2 * s_.hidden, sums + 3 * s_.hidden, s_.hidden);
    } else {
      add(db + width, sums, width);
    }
  }

  void peephole(const Pointers& p, std::int64_t d, const Block& block, C* dp) const {
    const std::int64_t n = s_.hidden;
    C* memory = at(p, rows_);
    if (block.last == s_.steps) std::fill_n(dp, 3 * n, C{0});
    if (p.p == nullptr) return;
    for (std::int64_t i = block.first; i < block.last; ++i) {
      for (std::int64_t b = 0; b < s_.batch; ++b) {
        const std::int64_t t = s_.step(d, i);
        const C* c = p.cells + (d * s_.rows() + s_.row(t, b)) * n;
        const C* old = cells_before(p, d, i, b, memory);
        const C* gb = g(p, block, t, b);
        for (std::int64_t k = 0; k < n; ++k) {
          dp[k] += gb[k] * old[k];
          dp[n + k] += gb[n + k] * c[k];
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
  ComputeIn<C> x_, w_, r_, h0_, c0_, p_, y_, z_, cells_, dy_, dy_h_, dy_c_;
  ComputeOut<C> dx_, dw_, dr_, db_, dh0_, dc0_, dp_;
  StepProduct<C> product_, last_product_;
  bool has_lengths_ = false;
  std::size_t g_ = 0, before_ = 0, sums_ = 0, dh_ = 0, dc_ = 0, reset_ = 0, rows_ = 0, work_ = 0;
  std::size_t work_bytes_ = 0;
};

}  // namespace

Kernel bind_recurrent_gradient(BindContext& context) {
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    return [backward = Backward<C>(context)](KernelContext& call) { backward(call); };
  });
}

}  // namespace ondine::kernels
