// The cell of GRU. Gates in the order update, reset, candidate; the fourth part that is saved is
// r h, or R_h h with its bias (linear_before_reset).
#pragma once

#include <array>

#include "kernels/recurrent/backward_driver.h"
#include "kernels/recurrent/forward_driver.h"

namespace ondine::kernels {

inline constexpr std::array<std::string_view, 2> gru_activations{"Sigmoid", "Tanh"};
inline constexpr CellTraits gru_traits{
    .gates = 3, .saved_gates = 4, .cell_state = false, .activations = gru_activations};

template <class C>
class GruForward {
 public:
  GruForward(graph::BindContext& context, Scratch& scratch, const Recurrence& s)
      : s_(s),
        linear_(s.linear_before_reset),
        product_(context, scratch, s, step_shape(s, linear_ ? 3 : 2)),
        candidate_product_(context, scratch, s, step_shape(s, linear_ ? 0 : 1)),
        products_(scratch.add<C>(s.batch_size * s.width())),
        reset_(scratch.add<C>(s.batch_size * s.hidden_size)),
        rows_(scratch.add<C>(s.batch_size * 2 * s.hidden_size)) {}

  struct Weights {
    const C *r, *r_candidate;
    const C* candidate_bias;  // of R_h, linear_before_reset only
  };
  // With linear_before_reset the reset gate multiplies R_h's bias too.
  std::int64_t r_bias_columns() const { return (linear_ ? 2 : 3) * s_.hidden_size; }
  Weights prepare(const ForwardArgs<C>& args, std::int64_t d) const {
    const std::int64_t n = s_.hidden_size;
    const C* r = args.r + d * s_.width() * n;
    const C* bias = args.b == nullptr ? nullptr : args.b + (d * 2 + 1) * s_.width() + 2 * n;
    return {product_.prepare(args.call, r), candidate_product_.prepare(args.call, r + 2 * n * n),
            bias};
  }

  void step(const ForwardStep<C>& step, const Weights& weights) const {
    const std::int64_t n = s_.hidden_size;
    auto& call = step.args.call;
    C* products = products_of(step, step.first);
    product_.run(call, weights.r, step.first, step.samples(), step.h(step.first), products, false);
    if (linear_) {
      return step.finish([&](const ForwardRow<C>& row) {
        gate_product(step, row, weights.candidate_bias);
        finish_cell(step, row);
      });
    }
    step.for_rows([&](const ForwardRow<C>& row) { reset_state(step, row); });
    candidate_product_.run(call, weights.r_candidate, step.first, step.samples(),
                           reset_of(step, step.first), products + 2 * n, false);
    step.finish([&](const ForwardRow<C>& row) {
      add(row.gates + 2 * n, products_of(step, row.b) + 2 * n, n);
      std::copy_n(reset_of(step, row.b), n, row.gates + 3 * n);
      finish_cell(step, row);
    });
  }

 private:
  // h, or r h, times this many gates of R.
  static StepShape step_shape(const Recurrence& s, std::int64_t gates) {
    return {.n = gates * s.hidden_size,
            .k = s.hidden_size,
            .lda = s.hidden_size,
            .ldc = s.width(),
            .transposed = true};
  }
  C* products_of(const ForwardStep<C>& step, std::int64_t b) const {
    return Scratch::at<C>(step.args.call, products_) + b * s_.width();
  }
  C* reset_of(const ForwardStep<C>& step, std::int64_t b) const {
    return Scratch::at<C>(step.args.call, reset_) + b * s_.hidden_size;
  }
  static void add(C* to, const C* from, std::int64_t n) {
    math::vector_kernels<C>().add.vv(to, to, from, n);
  }

  // r h, for the product with R_h.
  void reset_state(const ForwardStep<C>& step, const ForwardRow<C>& row) const {
    const std::int64_t n = s_.hidden_size;
    add(row.gates, products_of(step, row.b), 2 * n);
    C* reset = reset_of(step, row.b);
    s_.activation(step.d, 0).apply(row.gates + n, reset, n);
    for (std::int64_t i = 0; i < n; ++i) reset[i] *= row.h[i];
  }

  // linear_before_reset: r (R_h h + bias) into the candidate.
  void gate_product(const ForwardStep<C>& step, const ForwardRow<C>& row, const C* bias) const {
    const std::int64_t n = s_.hidden_size;
    const C* products = products_of(step, row.b);
    C* reset = Scratch::at<C>(step.args.call, rows_) + row.b * 2 * n;
    C* linear = row.gates + 3 * n;
    add(row.gates, products, 2 * n);
    s_.activation(step.d, 0).apply(row.gates + n, reset, n);
    for (std::int64_t i = 0; i < n; ++i) {
      linear[i] = products[2 * n + i] + (bias != nullptr ? bias[i] : C{0});
      row.gates[2 * n + i] += reset[i] * linear[i];
    }
  }

  void finish_cell(const ForwardStep<C>& step, const ForwardRow<C>& row) const {
    const std::int64_t n = s_.hidden_size;
    C* update = Scratch::at<C>(step.args.call, rows_) + row.b * 2 * n;
    C* candidate = update + n;
    s_.activation(step.d, 0).apply(row.gates, update, n);
    s_.activation(step.d, 1).apply(row.gates + 2 * n, candidate, n);
    for (std::int64_t i = 0; i < n; ++i) {
      row.h[i] = (1 - update[i]) * candidate[i] + update[i] * row.h[i];
    }
  }

  Recurrence s_;
  bool linear_;
  StepProduct<C> product_, candidate_product_;
  std::size_t products_;      // [batch_size, 3 hidden_size]: h R, or r h R_h in the third part
  std::size_t reset_, rows_;  // r h; two rows for each sample
};

template <class C>
class GruBackward {
 public:
  static constexpr std::int64_t direct_gates = 2;
  static constexpr bool bypasses_r = true;  // z h
  static constexpr bool adds_dy = false;

  GruBackward(graph::BindContext& context, Scratch& scratch, const Recurrence& s)
      : s_(s),
        linear_(s.linear_before_reset),
        product_(context, scratch, s, step_shape(s, 2, s.hidden_size)),
        candidate_product_(context, scratch, s,
                           step_shape(s, 1, (linear_ ? 1 : 4) * s.hidden_size)),
        rows_(scratch.add<C>(s.batch_size * 4 * s.hidden_size)) {}

  struct Weights {
    const C *r, *r_candidate;
  };
  Weights prepare(const BackwardArgs<C>& args, std::int64_t d) const {
    const std::int64_t n = s_.hidden_size;
    const C* r = args.r + d * s_.width() * n;
    return {product_.prepare(args.call, r), candidate_product_.prepare(args.call, r + 2 * n * n)};
  }

  void cell(const BackwardStep<C>& step, const BackwardRow<C>& row) const {
    const std::int64_t n = s_.hidden_size;
    const Rows rows = rows_of(step, row.b);
    const CellActivation& f = s_.activation(step.d, 0);
    const CellActivation& g = s_.activation(step.d, 1);
    const C* z = row.gates;
    C* dz = row.dgates;
    f.apply(z, rows.update, n);
    f.apply(z + n, rows.reset, n);
    g.apply(z + 2 * n, rows.candidate, n);
    const math::VectorKernels<C>& vector = math::vector_kernels<C>();
    vector.sub.vv(dz, row.previous_h, rows.candidate, n);
    vector.mul.vv(dz, row.dh, dz, n);
    vector.sub.sv(dz + 2 * n, C{1}, rows.update, n);
    vector.mul.vv(dz + 2 * n, row.dh, dz + 2 * n, n);
    vector.mul.vv(row.bypass, row.dh, rows.update, n);
    f.gradient(z, rows.update, dz, dz, n);
    g.gradient(z + 2 * n, rows.candidate, dz + 2 * n, dz + 2 * n, n);
    if (!linear_) return;  // the reset gate follows in through_reset
    vector.mul.vv(dz + n, dz + 2 * n, z + 3 * n, n);
    vector.mul.vv(dz + 3 * n, dz + 2 * n, rows.reset, n);
    f.gradient(z + n, rows.reset, dz + n, dz + n, n);
  }

  void through_r(const BackwardStep<C>& step, const Weights& weights) const {
    const std::int64_t n = s_.hidden_size;
    if (!linear_) through_reset(step, weights);
    const C* dgates = step.dgates(step.first);
    product_.run(step.args.call, weights.r, step.first, step.samples(), dgates, step.dh(step.first),
                 false);
    if (!linear_) return;
    candidate_product_.run(step.args.call, weights.r_candidate, step.first, step.samples(),
                           dgates + 3 * n, step.dh(step.first), true);
  }

  // R_h multiplies h, or r h.
  void add_r_gradient(const BackwardBlock<C>& block, C* dr) const {
    const std::int64_t n = s_.hidden_size;
    const std::int64_t saved = s_.saved_width();
    auto& pool = block.args.call.pool();
    math::gemm<C>(pool, {.m = 2 * n, .n = n, .k = block.rows, .trans_a = true, .lda = saved},
                  block.dgates, block.previous_h, dr, block.options, block.workspace,
                  block.kernels);
    const C* gates = block.args.gates + (block.d * s_.rows() + block.start) * saved;
    math::gemm<C>(pool,
                  {.m = n,
                   .n = n,
                   .k = block.rows,
                   .trans_a = true,
                   .lda = saved,
                   .ldb = linear_ ? n : saved},
                  block.dgates + (linear_ ? 3 : 2) * n, linear_ ? block.previous_h : gates + 3 * n,
                  dr + 2 * n * n, block.options, block.workspace, block.kernels);
  }

  void add_r_bias(const C* sums, C* db) const {
    const std::int64_t n = s_.hidden_size;
    if (!linear_) return add_row(db, sums, 3 * n);
    add_row(db, sums, 2 * n);
    add_row(db + 2 * n, sums + 3 * n, n);
  }

 private:
  // The derivatives of this many gates times R.
  static StepShape step_shape(const Recurrence& s, std::int64_t gates, std::int64_t ldc) {
    return {.n = s.hidden_size,
            .k = gates * s.hidden_size,
            .lda = s.gates_stride(),
            .ldc = ldc,
            .transposed = false};
  }
  struct Rows {
    C *update, *reset, *candidate, *product;
  };
  Rows rows_of(const BackwardStep<C>& step, std::int64_t b) const {
    const std::int64_t n = s_.hidden_size;
    C* rows = Scratch::at<C>(step.args.call, rows_) + b * 4 * n;
    return {rows, rows + n, rows + 2 * n, rows + 3 * n};
  }

  // The derivative with respect to r h, and from it those of r and, bypassing R, of h.
  void through_reset(const BackwardStep<C>& step, const Weights& weights) const {
    const std::int64_t n = s_.hidden_size;
    candidate_product_.run(step.args.call, weights.r_candidate, step.first, step.samples(),
                           step.dgates(step.first) + 2 * n, rows_of(step, step.first).product,
                           false);
    const math::VectorKernels<C>& vector = math::vector_kernels<C>();
    for (std::int64_t b = step.first; b < step.last; ++b) {
      if (!step.valid(b)) continue;
      const Rows rows = rows_of(step, b);
      const BackwardRow<C> row = step.row(b);
      vector.mul.vv(row.dgates + n, rows.product, row.previous_h, n);
      vector.mul.vv(rows.product, rows.product, rows.reset, n);
      vector.add.vv(row.bypass, row.bypass, rows.product, n);
      std::fill_n(row.dgates + 3 * n, n, C{0});
      s_.activation(step.d, 0).gradient(row.gates + n, rows.reset, row.dgates + n, row.dgates + n,
                                        n);
    }
  }

  Recurrence s_;
  bool linear_;
  StepProduct<C> product_, candidate_product_;
  std::size_t rows_;
};

template <class C>
struct GruCell {
  using Element = C;
  static constexpr CellTraits traits = gru_traits;
  using Forward = GruForward<C>;
  using Backward = GruBackward<C>;
};

}  // namespace ondine::kernels
