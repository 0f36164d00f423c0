// group_query_attention.cpp — com.microsoft GroupQueryAttention: attention in which several query
// heads share a head of keys and values, with a cache [batch, kv heads, length, size] of past keys
// and values. Sample b has seqlens_k[b] + 1 tokens, the last sequence_length of which are new; in
// the first call all are, and what follows a shorter sequence is padding. New keys are written
// after the past ones; a query sees the keys before and at its own position, or the last
// local_window_size of them. head_sink (0 for every head with smooth_softmax) is the score of
// one more key without a value.
#include <limits>

#include "core/checked.h"
#include "kernels/attention/grouped_heads.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/contrib/attention_core.h"
#include "kernels/contrib/contrib.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t {
  q_in,
  k_in,
  v_in,
  past_k_in,
  past_v_in,
  lengths_in,
  total_in,
  cos_in,
  sin_in,
  positions_in,
  bias_in,
  sink_in,
  k_scale_in,
  v_scale_in,
  q_norm_in,
  k_norm_in
};

void check(const InferContext& context) {
  check_call(context,
             {.required = 1U << q_in | 1U << lengths_in | 1U << total_in,
              .inputs = 16,
              .outputs = 3,
              .attributes = {"causal", "do_rotary", "k_quant_type", "kv_cache_bit_width",
                             "kv_num_heads", "local_window_size", "num_heads", "qk_norm_epsilon",
                             "qk_output", "rotary_interleaved", "scale", "sliding_window_cache",
                             "smooth_softmax", "softcap", "v_quant_type"}});
  require_floats(context, {q_in, k_in, v_in, past_k_in, past_v_in, cos_in, sin_in, bias_in, sink_in,
                           q_norm_in, k_norm_in});
  require_value(context, "qk_output", 0);
  require_value(context, "sliding_window_cache", 0);
  const bool quantized = context.has_input(k_scale_in) || context.has_input(v_scale_in) ||
                         context.attr_string("k_quant_type", "NONE") != "NONE" ||
                         context.attr_string("v_quant_type", "NONE") != "NONE";
  if (quantized) fail(ErrorCode::unsupported, "a quantized cache is not supported");
  const auto together = [&](std::size_t a, std::size_t b, std::string_view what) {
    if (context.has_input(a) != context.has_input(b)) {
      context.reject(what, " must be given together");
    }
  };
  together(k_in, v_in, "key and value");
  together(past_k_in, past_v_in, "past_key and past_value");
  together(cos_in, sin_in, "cos_cache and sin_cache");
  together(q_norm_in, k_norm_in, "q_norm_weight and k_norm_weight");
  if (context.attr_int("do_rotary", 0) != 0 && !context.has_input(cos_in)) {
    context.reject("do_rotary needs cos_cache and sin_cache");
  }
}

struct Heads {
  std::int64_t q, kv;

  // Number of heads of queries, keys and values.
  std::int64_t all() const { return checked_add(q, checked_mul(2, kv)); }
};

Heads heads(const NodeView& node) {
  const Heads count{positive_attribute(node, "num_heads"),
                    positive_attribute(node, "kv_num_heads")};
  if (count.q % count.kv != 0) {
    fail(ErrorCode::mismatch, count.q, " query heads are not a multiple of ", count.kv,
         " heads of keys");
  }
  return count;
}

Dim present_length(const InferContext& context, Dim steps) {
  if (!context.has_input(past_k_in)) return steps;
  const Dim past = dims_of_rank(context, past_k_in, 4, "past_key")[2];
  const auto total = context.known_ints(total_in);
  if (!past.known() || !total || total->size() != 1) return {};
  return std::max(past.size(), total->front());
}

void infer(InferContext& context) {
  check(context);
  const Heads count = heads(context);
  const Dims q = dims_of_rank(context, q_in, 3, "query");
  const bool packed = !context.has_input(k_in);
  const std::int64_t parts = packed ? count.all() : count.q;
  Dim size;
  if (q[2].known()) {
    if (q[2].size() % parts != 0) {
      context.reject("hidden size ", q[2].size(), " is not a multiple of ", parts, " heads");
    }
    size = q[2].size() / parts;
  }
  if (!packed) {
    const Dims k = dims_of_rank(context, k_in, 3, "key");
    unify(k[0], q[0], "batches");
    unify(k[1], q[1], "sequence lengths of query and key");
    unify(k[2], multiply(size, count.kv), "hidden sizes of the keys");
  }
  const DType dtype = context.dtype(q_in);
  context.set_output(0, dtype, Dims{q[0], q[1], multiply(size, count.q)});
  const Dims present{q[0], count.kv, present_length(context, q[1]), size};
  context.set_output(1, dtype, present);
  context.set_output(2, dtype, present);
}

class Expansion {
 public:
  explicit Expansion(ExpandContext& context)
      : context_(context), b_(context.builder()), heads_(heads(context)) {
    unpack();
    steps_ = graph::dim_of(q_, 1);
    total_ = graph::cast(graph::reshape(context.x(total_in), {1}), DType::int64);
    lengths_ = graph::cast(graph::reshape(context.x(lengths_in), {-1}), DType::int64) + b_.int64(1);
    offset_ = graph::where(graph::equal(total_, steps_), b_.int64(0), lengths_ - steps_);
  }

  std::vector<Val> run() {
    normalize();
    turn();
    const Val q = to_heads(q_, heads_.q);
    Val k = cached(to_heads(k_, heads_.kv), past_k_in);
    Val v = cached(to_heads(v_, heads_.kv), past_v_in);
    const std::vector<Val> present{k, v};
    Val bias = mask(k);
    if (const Val given = context_.x(bias_in)) bias = bias + with_length(given, k, 3);
    if (const Val sink = sinks()) {
      const Val shape[] = {graph::dim_of(q, 0), b_.int64s({heads_.q}), steps_, graph::dim_of(k, 2)};
      bias = graph::expand(bias, graph::concat(shape, 0));
      const Val column[] = {shape[0], shape[1], shape[2], b_.int64s({1})};
      const Val both[] = {bias, graph::expand(sink, graph::concat(column, 0))};
      bias = graph::concat(both, 3);
      k = longer(k, b_.int64s({1}), 2);
      v = longer(v, b_.int64s({1}), 2);
    }
    const auto result = attend(context_, {.q = q, .k = k, .v = v, .bias = bias}, false);
    return {result.y, present[0], present[1]};
  }

 private:
  void unpack() {
    q_ = context_.x(q_in);
    require_rank(context_, q_);
    if (context_.x(k_in)) {
      const auto input = [&](std::size_t i) {
        return with_dims_of(context_.x(i), {0, 1}, q_, {0, 1}, "batches or sequence lengths");
      };
      k_ = input(k_in);
      v_ = input(v_in);
      return;
    }
    const Val heads = split_heads(q_, heads_.all());
    const Val operands[] = {heads, b_.int64s({heads_.q, heads_.kv, heads_.kv})};
    const auto parts = b_.nodes("Split", operands, {{"axis", std::int64_t{2}}}, 3);
    q_ = join_heads(parts[0]);
    k_ = join_heads(parts[1]);
    v_ = join_heads(parts[2]);
  }

  void normalize() {
    if (!context_.x(q_norm_in)) return;
    const auto norm = [&](Val x, std::int64_t count, std::size_t weight) {
      return join_heads(b_.node("RMSNormalization", {split_heads(x, count), context_.x(weight)},
                                {{"epsilon", context_.attr_float("qk_norm_epsilon", 1e-6F)}}));
    };
    q_ = norm(q_, heads_.q, q_norm_in);
    k_ = norm(k_, heads_.kv, k_norm_in);
  }

  void turn() {
    if (context_.attr_int("do_rotary", 0) == 0) return;
    Val positions = context_.x(positions_in);
    if (!positions) positions = graph::unsqueeze(offset_, {1}) + range(steps_);
    const Val cos = context_.x(cos_in);
    const Val sin = context_.x(sin_in);
    // Positions of padding may lie beyond the caches.
    const Val last = graph::dim_of(cos, 0) - b_.int64(1);
    positions = graph::maximum(graph::minimum(positions, last), b_.int64(0));
    const auto rotate = [&](Val x, std::int64_t count) {
      Attributes attributes{{"num_heads", count},
                            {"interleaved", context_.attr_int("rotary_interleaved", 0)}};
      if (!cos.ranked() || !cos.dims()[1].known()) {
        fail(ErrorCode::unsupported, "do_rotary needs a known width of cos_cache");
      }
      const std::int64_t part = 2 * cos.dims()[1].size();
      const Dim hidden = x.dims()[2];
      const bool whole = hidden.known() && hidden.size() == checked_mul(part, count);
      if (!whole) attributes.emplace_back("rotary_embedding_dim", part);
      const Val shape[] = {graph::dim_of(x, 0), steps_};
      const Val places = graph::expand(positions, graph::concat(shape, 0));
      return b_.node("RotaryEmbedding", {x, cos, sin, places}, std::move(attributes));
    };
    q_ = rotate(q_, heads_.q);
    k_ = rotate(k_, heads_.kv);
  }

  // 0, 1, ..., length - 1.
  Val range(Val length) {
    return b_.node("Range", {b_.int64(0), graph::squeeze(length, {0}), b_.int64(1)});
  }

  // Zeros appended along an axis.
  Val longer(Val x, Val more, std::int64_t axis) {
    const Val pads[] = {b_.int64s({0}), more};
    return b_.node("Pad", {x, graph::concat(pads, 0), graph::scalar_like(x, 0), b_.int64s({axis})});
  }
  Val with_length(Val x, Val keys, std::int64_t axis) {
    const bool complete = x.ranked() && x.dims().back().same(keys.dims()[2]);
    if (complete) return x;
    return longer(x, graph::dim_of(keys, 2) - graph::dim_of(x, axis), axis);
  }

  // The cache with the new keys or values.
  Val cached(Val x, std::size_t past_in) {
    const Val past = context_.x(past_in);
    if (!past) return x;
    const Val missing = graph::maximum(total_ - graph::dim_of(past, 2), b_.int64(0));
    return b_.node("TensorScatter", {longer(past, missing, 2), x, offset_},
                   {{"axis", std::int64_t{2}}});
  }

  // 0 where a query sees a key, else minus infinity: [batch, 1, queries, keys].
  Val mask(Val keys) {
    const Val key = range(graph::dim_of(keys, 2));
    const Val start = graph::unsqueeze(offset_, {1, 2, 3});
    const Val query = graph::unsqueeze(range(steps_), {1}) + start;
    Val seen;
    if (context_.attr_int("causal", 1) != 0) {
      seen = graph::logical_not(graph::greater(key, query));
    } else {
      seen = graph::less(key, graph::unsqueeze(lengths_, {1, 2, 3}));
    }
    if (const std::int64_t window = context_.attr_int("local_window_size", -1); window > 0) {
      seen = graph::logical_and(seen, graph::greater(key, query - b_.int64(window)));
    }
    return graph::where(seen, graph::scalar_like(keys, 0),
                        graph::scalar_like(keys, -std::numeric_limits<double>::infinity()));
  }

  // [1, heads, 1, 1], or empty.
  Val sinks() {
    if (const Val given = context_.x(sink_in)) return graph::reshape(given, {1, heads_.q, 1, 1});
    if (context_.attr_int("smooth_softmax", 0) <= 0) return {};
    return graph::expand(graph::scalar_like(q_, 0), b_.int64s({1, heads_.q, 1, 1}));
  }

  ExpandContext& context_;
  Builder& b_;
  Heads heads_;
  Val q_, k_, v_;
  Val steps_;    // sequence_length, a vector of one element
  Val total_;    // the same of total_sequence_length
  Val lengths_;  // tokens of each sample
  Val offset_;   // position of the first new token of each sample
};

std::vector<Val> expand(ExpandContext& context) { return Expansion(context).run(); }

}  // namespace

extern const OpDef group_query_attention{
    .name = "GroupQueryAttention", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
