// attention.cpp — y = softmax(softcap(scale q k^T) + mask) v for each head; with rank 3 the heads
// are side by side in the last dim; k and v may have fewer heads than q. Rows whose keys are all
// masked give 0. Version 24 added nonpad_kv_seqlen, 25 the window sizes. An expansion.
#include <array>
#include <cmath>
#include <limits>

#include "kernels/attention/attention_rules.h"
#include "kernels/attention/grouped_heads.h"
#include "kernels/common/dtype_attribute.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t { q_in, k_in, v_in, mask_in, past_k_in, past_v_in, lengths_in };

std::int64_t heads(const NodeView& node, const char* name) {
  const std::int64_t count = node.attr_int(name, 0);
  if (count < 1)
    fail(ErrorCode::mismatch, std::string_view(name), " is ", count, ", inputs of rank 3 need it");
  return count;
}

// [batch, heads, sequence_length, head_size] of Q, K or V.
Dims split_dims(const Dims& x, std::int64_t count) {
  if (x[2].known() && x[2].size() % count != 0) {
    fail(ErrorCode::mismatch, "hidden size ", x[2].size(), " is not a multiple of ", count,
         " heads");
  }
  return {x[0], count, x[1], x[2].known() ? Dim(x[2].size() / count) : Dim()};
}

void check_attributes(const InferContext& context) {
  if (context.has_input(past_k_in) != context.has_input(past_v_in)) {
    context.reject("past_key and past_value must be given together");
  }
  if (context.has_input(lengths_in) && context.has_input(past_k_in)) {
    context.reject("nonpad_kv_seqlen and past_key exclude each other");
  }
  float_attribute(context, "softmax_precision", context.dtype(q_in));
  const auto mode = context.attr_int("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) context.reject("qk_matmul_output_mode is ", mode);
  for (const char* name : {"left_window_size", "right_window_size"}) {
    if (context.attr_int(name, -1) < -1) context.reject(std::string_view(name), " is below -1");
  }
}

void infer(InferContext& context) {
  const DType dtype = context.dtype(q_in);
  check_attributes(context);
  std::array<std::optional<Dims>, 3> dims;
  std::size_t rank = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!context.ranked(i)) continue;
    if (rank != 0 && context.rank(i) != rank) context.reject("Q, K and V differ in rank");
    rank = context.rank(i);
    if (rank != 3 && rank != 4) context.reject("Q, K and V must have rank 3 or 4, found ", rank);
    dims[i] = context.dims(i);
    if (rank == 3) {
      dims[i] = split_dims(*dims[i], heads(context, i == 0 ? "q_num_heads" : "kv_num_heads"));
    }
  }
  if (!dims[0] || !dims[1] || !dims[2]) {
    context.set_output(0, dtype, std::nullopt);
    context.set_output(1, context.dtype(k_in), std::nullopt);
    context.set_output(2, context.dtype(v_in), std::nullopt);
    context.set_output(3, dtype, std::nullopt);
    return;
  }
  Dims q = *dims[0];
  Dims k = *dims[1];
  Dims v = *dims[2];
  unify(unify(q[0], k[0], "batches"), v[0], "batches");
  unify(q[3], k[3], "head sizes of Q and K");
  unify(k[1], v[1], "heads of K and V");
  unify(k[2], v[2], "sequence lengths of K and V");
  if (q[1].known() && k[1].known() && (k[1].size() == 0 || q[1].size() % k[1].size() != 0)) {
    context.reject(q[1].size(), " heads of Q are not a multiple of ", k[1].size(), " heads of K");
  }
  const auto extend = [&](Dims& now, std::size_t past, std::string_view what) {
    if (!context.has_input(past)) return;
    const Dims before = dims_of_rank(context, past, 4, what);
    unify(before[1], now[1], "heads of the past");
    unify(before[3], now[3], "head sizes of the past");
    now[2] = add(before[2], now[2]);
  };
  extend(k, past_k_in, "past_key");
  extend(v, past_v_in, "past_value");
  if (rank == 3) {
    context.set_output(0, dtype, Dims{q[0], q[2], multiply(q[1], v[3])});
  } else {
    context.set_output(0, dtype, Dims{q[0], q[1], q[2], v[3]});
  }
  context.set_output(1, context.dtype(k_in), k);
  context.set_output(2, context.dtype(v_in), v);
  context.set_output(3, dtype, Dims{q[0], q[1], q[2], k[2]});
}

class Expansion {
 public:
  explicit Expansion(ExpandContext& context)
      : context_(context), b_(context.builder()), q_(context.x(q_in)) {
    if (!q_.ranked()) fail(ErrorCode::unsupported, "Attention needs a known rank");
    flat_ = q_.rank() == 3;
    k_ = context.x(k_in);
    v_ = context.x(v_in);
    if (flat_) {
      q_ = split(q_, "q_num_heads");
      k_ = split(k_, "kv_num_heads");
      v_ = split(v_, "kv_num_heads");
    }
    k_ = with_dims_of(k_, {0}, q_, {0}, "batches");
    v_ = with_dims_of(v_, {0, 1, 2}, k_, {0, 1, 2}, "batches, heads or lengths of V and K");
    join_past();
  }

  std::vector<Val> run() {
    const Val present_k = k_;
    const Val present_v = v_;
    const SharedHeads heads(q_, k_);
    const Val bias = total_bias();
    if (Val y = without_scores(heads, bias)) {
      if (flat_) y = join_heads(graph::transpose(y, {0, 2, 1, 3}));
      return {y, present_k, present_v, Val()};
    }
    Val scores = scaled_scores(heads);
    Val shown = scores;
    const double cap = context_.attr_float("softcap", 0);
    const auto mode = context_.attr_int("qk_matmul_output_mode", 0);
    if (cap > 0) scores = unary("Tanh", scores / cap) * cap;
    if (mode == 1) shown = scores;
    Val fully_masked;
    if (bias) {
      // Fully masked rows are replaced by 0 before the softmax, whose derivative would be NaN.
      fully_masked = hidden_rows(bias);
      scores = with_dims_of(scores + bias, scores, "dims of the scores with and without the mask");
      if (mode == 2) shown = scores;
      scores = graph::where(fully_masked, graph::scalar_like(scores, 0), scores);
    } else if (mode == 2) {
      shown = scores;
    }
    const DType type = scores.dtype();
    scores = graph::cast(scores, float_attribute(context_, "softmax_precision", type));
    Val weights = graph::cast(graph::softmax(scores, -1), type);
    if (fully_masked) weights = graph::where(fully_masked, graph::scalar_like(weights, 0), weights);
    if (mode == 3) shown = weights;
    Val y =
        heads.join(graph::matmul(heads.split(graph::cast(weights, v_.dtype())), heads.keys(v_)));
    y = graph::cast(y, context_.x(q_in).dtype());
    if (flat_) y = join_heads(graph::transpose(y, {0, 2, 1, 3}));
    return {y, present_k, present_v, shown};
  }

 private:
  Val split(Val x, const char* count) {
    return graph::transpose(split_heads(x, heads(context_, count)), {0, 2, 1, 3});
  }

  void join_past() {
    const Val past_k = context_.x(past_k_in);
    const Val past_v = context_.x(past_v_in);
    if (!past_k) return;
    past_length_ = graph::dim_of(past_k, 2);
    const Val ks[] = {past_k, k_};
    const Val vs[] = {past_v, v_};
    k_ = graph::concat(ks, 2);
    v_ = graph::concat(vs, 2);
  }

  // Expands by ScaledAttention; empty if the scores are an output or of another form.
  Val without_scores(const SharedHeads& heads, Val total) {
    const auto scale = plain_scale();
    if (!scale || (total && !total.ranked())) return {};
    Attributes attributes{{"scale", *scale}, {"zero_rows", std::int64_t{1}}};
    const float cap = context_.attr_float("softcap", 0);
    if (cap > 0) attributes.emplace_back("softcap", cap);
    const Val stacked = total ? heads.stack_mask(total) : Val();
    // Queries that share keys are rows of one matrix where a mask can be stacked as they are.
    const bool stacks = stacked || !total;
    const Val operands[] = {stacks ? heads.stack(q_) : q_, k_, v_, stacks ? stacked : total};
    const Val y = b_.nodes("ScaledAttention", std::span(operands).first(total ? 4 : 3),
                           std::move(attributes), 1, ondine_domain)[0];
    return stacks ? heads.unstack(y) : y;
  }

  // The scale where known, of an attention whose scores are not an output.
  std::optional<float> plain_scale() const {
    if (context_.has_output(3)) return {};
    const DType type = q_.dtype();
    if (type != DType::float32 && type != DType::float64) return {};
    if (v_.dtype() != type || float_attribute(context_, "softmax_precision", type) != type) {
      return {};
    }
    if (!k_.ranked() || !v_.ranked()) return {};
    if (context_.has_attr("scale")) return context_.attr_float("scale", 1);
    const Dim head_size = q_.dims()[3];
    if (!head_size.known() || head_size.size() == 0) return {};
    return static_cast<float>(1 / std::sqrt(static_cast<double>(head_size.size())));
  }

  Val scaled_scores(const SharedHeads& heads) {
    // Both operands are multiplied by the root of the scale, which keeps 16-bit products small.
    Val root;
    if (context_.has_attr("scale")) {
      const double scale = context_.attr_float("scale", 1);
      if (scale < 0) return product(heads, q_ * scale, k_);
      root = graph::scalar_like(q_, std::sqrt(scale));
    } else if (q_.dims()[3].known()) {
      root = graph::scalar_like(q_, std::pow(static_cast<double>(q_.dims()[3].size()), -0.25));
    } else {
      root = graph::pow(graph::cast(graph::dim_of(q_, 3), q_.dtype()), -0.25);
    }
    return product(heads, q_ * root, k_ * root);
  }
  Val product(const SharedHeads& heads, Val q, Val k) {
    return heads.join(b_.node("MatMulT", {heads.split(q), heads.keys(k)},
                              {{"transB", std::int64_t{1}}}, ondine_domain));
  }

  Val infinity(Val like) {
    return graph::scalar_like(like, -std::numeric_limits<double>::infinity());
  }
  // 0 where allowed, else minus infinity.
  Val as_bias(Val allowed) {
    return graph::where(allowed, graph::scalar_like(q_, 0), infinity(q_));
  }

  Val total_bias() {
    Val bias = mask();
    const auto join = [&](Val more) { bias = bias ? bias + more : more; };
    const bool causal = context_.attr_int("is_causal", 0) != 0;
    const std::int64_t left = context_.attr_int("left_window_size", -1);
    const std::int64_t right = context_.attr_int("right_window_size", -1);
    const Val lengths = context_.x(lengths_in);
    const Val keys = range(k_, 2);
    if (causal || left >= 0 || right >= 0) {
      const Val ahead = graph::unsqueeze(range(q_, 2), {1}) + offset(lengths) - keys;
      if (causal) join(as_bias(not_less(ahead, 0)));
      if (left >= 0) join(as_bias(graph::less(ahead, b_.int64(left + 1))));
      if (right >= 0) join(as_bias(not_less(ahead, -right)));
    }
    if (lengths) join(as_bias(graph::less(keys, graph::unsqueeze(lengths, {1, 2, 3}))));
    return bias;
  }

  Val not_less(Val a, std::int64_t bound) { return graph::greater(a, b_.int64(bound - 1)); }

  // 0, 1, ... along an axis of x.
  Val range(Val x, std::int64_t axis) {
    const Val end = graph::squeeze(graph::dim_of(x, axis), {0});
    return b_.node("Range", {b_.int64(0), end, b_.int64(1)});
  }

  // The position of the first query among the keys: a scalar, or one per sample.
  Val offset(Val lengths) {
    if (past_length_) return past_length_;
    if (lengths) return graph::unsqueeze(lengths - graph::dim_of(q_, 2), {1, 2, 3});
    return b_.int64(0);
  }

  Val mask() {
    Val given = context_.x(mask_in);
    if (!given) return {};
    const bool allowed = given.dtype() == DType::boolean;
    if (!allowed) given = graph::cast(given, q_.dtype());
    // Keys beyond the end of the mask are masked.
    const bool complete = given.ranked() && given.dims().back().same(k_.dims()[2]);
    if (!complete) {
      if (!given.ranked()) fail(ErrorCode::unsupported, "attn_mask needs a known rank");
      const Val missing = graph::dim_of(k_, 2) - graph::dim_of(given, -1);
      const Val parts[] = {b_.int64s({0}), missing};
      const Val fill = allowed ? b_.scalar(0, DType::boolean) : infinity(given);
      given = b_.node("Pad", {given, graph::concat(parts, 0), fill, b_.int64s({-1})});
    }
    return allowed ? as_bias(given) : given;
  }

  ExpandContext& context_;
  Builder& b_;
  Val q_, k_, v_, past_length_;
  bool flat_ = false;
};

std::vector<Val> expand(ExpandContext& context) { return Expansion(context).run(); }

}  // namespace

extern const OpDef attention{
    .name = "Attention", .infer = infer, .expand = expand, .no_gradient = 1U << lengths_in};

}  // namespace ondine::kernels::ops
