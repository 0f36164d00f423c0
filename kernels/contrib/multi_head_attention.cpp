// multi_head_attention.cpp — com.microsoft MultiHeadAttention: attention of queries, keys and
// values [batch, sequence_length, heads head_size]. Queries, keys and values may be packed as
// [batch, sequence_length, heads, 3, head_size], or keys and values with 2 instead of 3, or keys
// and values may be split into heads already. The bias is that of the three projections.
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
  projection_bias_in,
  mask_in,
  bias_in,
  past_k_in,
  past_v_in
};

std::size_t rank_of(const InferContext& context, std::size_t i) {
  return context.has_input(i) && context.ranked(i) ? context.rank(i) : 0;
}

void check_layout(const InferContext& context) {
  const std::size_t q = rank_of(context, q_in);
  const std::size_t k = rank_of(context, k_in);
  const std::size_t v = rank_of(context, v_in);
  const auto reject = [&] {
    fail(ErrorCode::unsupported, "query, key and value of ranks ", q, ", ", k, " and ", v,
         " (0: absent) are not supported");
  };
  if (q == 0) return;
  const bool packed = !context.has_input(k_in) && !context.has_input(v_in);
  if (packed) return q == 5 ? void() : reject();
  if (q != 3) reject();
  if (k == 0) return;
  if (k == 5 ? context.has_input(v_in) : (k != 3 && k != 4)) reject();
  if (k != 5 && (!context.has_input(v_in) || (v != 0 && v != k))) reject();
  if (context.has_input(past_k_in) != context.has_input(past_v_in)) {
    context.reject("past_key and past_value must be given together");
  }
}

// Width of y, from the values.
Dim hidden_size(const InferContext& context, std::int64_t heads) {
  const std::size_t from = context.has_input(v_in) ? v_in : context.has_input(k_in) ? k_in : q_in;
  if (rank_of(context, from) == 0) return {};
  const Dims& v = context.dims(from);
  if (v.size() == 3) return v[2];
  return multiply(heads, v.back());
}

void infer(InferContext& context) {
  check_call(context,
             {.required = 1,
              .inputs = 8,
              .outputs = 3,
              .attributes = {"mask_filter_value", "num_heads", "scale", "unidirectional"}});
  require_floats(context, {q_in, k_in, v_in, projection_bias_in, bias_in, past_k_in, past_v_in});
  const std::int64_t heads = positive_attribute(context, "num_heads");
  check_layout(context);
  const DType dtype = context.dtype(q_in);
  const Dims q = context.ranked(q_in) ? context.dims(q_in) : Dims(3);
  const Dim hidden = hidden_size(context, heads);
  for (const Dim width : {q.size() == 3 ? q[2] : Dim(), hidden}) {
    if (width.known() && width.size() % heads != 0) {
      context.reject("hidden size ", width.size(), " is not a multiple of ", heads, " heads");
    }
  }
  context.set_output(0, dtype, Dims{q[0], q[1], hidden});
  const Dims present{q[0], heads, Dim(), Dim()};
  context.set_output(1, dtype, present);
  context.set_output(2, dtype, present);
}

class Expansion {
 public:
  explicit Expansion(ExpandContext& context)
      : context_(context), heads_(context.attr_int("num_heads", 1)) {
    const Val q = context.x(q_in);
    const Val k = context.x(k_in);
    require_rank(context, q);
    if (!k) {
      const auto parts = unpack(q, 3);
      set(parts[0], parts[1], parts[2]);
      return;
    }
    require_rank(context, k);
    split_bias(k.rank() == 4);
    const Val queries = to_heads(add_projection_bias(q, q_bias_), heads_);
    if (k.rank() == 5) {
      const auto parts = unpack(k, 2);
      set(queries, parts[0], parts[1]);
    } else if (k.rank() == 4) {
      set(queries, k, context.x(v_in));
    } else {
      set(queries, to_heads(add_projection_bias(k, k_bias_), heads_),
          to_heads(add_projection_bias(context.x(v_in), v_bias_), heads_));
    }
  }

  std::vector<Val> run() {
    operands_.bias = context_.x(bias_in);
    if (const Val mask = context_.x(mask_in)) {
      const Val padding = padding_bias(mask, total_keys(),
                                       double{context_.attr_float("mask_filter_value", -10000)});
      operands_.bias = add_if(padding, operands_.bias);
    }
    const bool with_present = context_.has_output(1) || context_.has_output(2);
    const auto results = attend(context_, operands_, with_present);
    return {results.y, results.present_k, results.present_v};
  }

 private:
  void set(Val q, Val k, Val v) {
    operands_ = {
        .q = q, .k = k, .v = v, .past_k = context_.x(past_k_in), .past_v = context_.x(past_v_in)};
  }

  // [batch, length, heads, count, size] -> count times [batch, heads, length, size].
  std::vector<Val> unpack(Val x, std::int64_t count) {
    if (context_.x(projection_bias_in)) {
      fail(ErrorCode::unsupported, "a bias with packed operands is not supported");
    }
    auto parts = context_.builder().nodes("Split", {&x, 1},
                                          {{"axis", std::int64_t{3}}, {"num_outputs", count}},
                                          static_cast<std::size_t>(count));
    for (Val& part : parts) part = graph::transpose(graph::squeeze(part, {3}), {0, 2, 1, 3});
    return parts;
  }

  // Keys and values that are split into heads have no bias.
  void split_bias(bool only_query) {
    const Val all = context_.x(projection_bias_in);
    if (!all) return;
    Builder& b = context_.builder();
    const Val hidden = graph::dim_of(context_.x(q_in), 2);
    const auto part = [&](Val from, Val to) {
      return b.node("Slice", {all, from, to, b.int64s({0})});
    };
    q_bias_ = part(b.int64s({0}), hidden);
    if (only_query) return;
    k_bias_ = part(hidden, hidden + hidden);
    v_bias_ = part(hidden + hidden, b.int64s({INT64_MAX}));
  }

  Val total_keys() {
    if (!operands_.past_k) return operands_.k;
    const Val both[] = {operands_.past_k, operands_.k};
    return graph::concat(both, 2);
  }

  ExpandContext& context_;
  std::int64_t heads_;
  AttentionOperands operands_;
  Val q_bias_, k_bias_, v_bias_;
};

std::vector<Val> expand(ExpandContext& context) { return Expansion(context).run(); }

}  // namespace

extern const OpDef multi_head_attention{
    .name = "MultiHeadAttention", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
