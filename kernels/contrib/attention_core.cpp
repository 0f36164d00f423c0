#include "kernels/contrib/attention_core.h"

#include "kernels/attention/grouped_heads.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/contrib/contrib.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

// The numbers of keys, or ends and beginnings, of each sample: [1 or 2, batch].
Val rows_of_samples(Val mask, Val keys) {
  Builder& b = mask.builder();
  const Val shape[] = {b.int64s({-1}), dim_of(keys, 0)};
  const Val rows = reshape(mask, concat(shape, 0));
  return with_dims_of(rows, {0}, slice(rows, 0, 2, 0), {0},
                      "the numbers for each sample in a padding mask and the 2 that it may have");
}

// The numbers of keys, or ends and beginnings, as a condition [batch, 1, 1, keys].
Val within(Val mask, Val keys) {
  Builder& b = mask.builder();
  const Val positions =
      b.node("Range", {b.scalar(0, DType::int32), cast(squeeze(dim_of(keys, 2), {0}), DType::int32),
                       b.scalar(1, DType::int32)});
  const auto column = [](Val x) { return unsqueeze(x, {1, 2, 3}); };
  if (mask.dims()[0].same(keys.dims()[0])) return less(positions, column(mask));
  const Val rows = rows_of_samples(mask, keys);
  const auto row = [&](Val x, std::int64_t i) {
    return column(squeeze(slice(x, i, i + 1, 0), {0}));
  };
  // Zeros where there are no beginnings.
  const Val padded[] = {rows, scalar_like(mask, 0) * slice(rows, 0, 1, 0)};
  return logical_and(less(positions, row(rows, 0)),
                     logical_not(less(positions, row(concat(padded, 0), 1))));
}

// [batch, heads, length, size] of keys (0) or values (1).
Val part_of_past(Val past, std::int64_t which) {
  return squeeze(slice(past, which, which + 1, 0), {0});
}

}  // namespace

Val add_projection_bias(Val projected, Val bias) {
  if (!bias) return projected;
  return projected +
         with_dims_of(bias, {-1}, projected, {-1}, "hidden sizes of the bias and the projection");
}

Val to_heads(Val x, std::int64_t heads) { return transpose(split_heads(x, heads), {0, 2, 1, 3}); }

Val padding_bias(Val mask, Val keys, double filter) {
  const std::size_t rank = mask.ranked() ? mask.rank() : 0;
  if (rank < 1 || rank > 4) {
    fail(ErrorCode::unsupported, "a padding mask needs a known rank of 1 to 4");
  }
  Val counts;
  if (rank == 1) {
    counts = within(mask, keys);
  } else {
    // A mask of rank 4 may be longer, for keys to come.
    if (rank < 4) {
      mask = with_dims_of(mask, {-1}, keys, {2}, "keys of the padding mask and all keys");
    }
    counts = greater(mask, scalar_like(mask, 0));
    if (rank == 2) counts = unsqueeze(counts, {1, 2});
    if (rank == 3) counts = unsqueeze(counts, {1});
  }
  return where(counts, scalar_like(keys, 0), scalar_like(keys, filter));
}

AttentionResults attend(const NodeView& node, const AttentionOperands& operands,
                        bool with_present) {
  Attributes attributes = pick_attributes(node, {"softcap"});
  // onnxruntime takes a scale of 0 for none.
  if (const float scale = node.attr_float("scale", 0); scale != 0) {
    attributes.emplace_back("scale", scale);
  }
  if (node.attr_int("unidirectional", 0) != 0) {
    attributes.emplace_back("is_causal", std::int64_t{1});
  }
  const Val inputs[] = {operands.q,    operands.k,      operands.v,
                        operands.bias, operands.past_k, operands.past_v};
  const auto ys =
      operands.q.builder().nodes("Attention", inputs, std::move(attributes), with_present ? 3 : 1);
  AttentionResults results{join_heads(transpose(ys[0], {0, 2, 1, 3})), {}, {}};
  if (with_present) {
    results.present_k = ys[1];
    results.present_v = ys[2];
  }
  return results;
}

std::vector<Val> self_attention(const ExpandContext& context, const SelfAttentionInputs& inputs) {
  Builder& b = context.builder();
  const std::int64_t heads = positive_attribute(context, "num_heads");
  const auto sizes = context.attr_ints("qkv_hidden_sizes");
  Attributes attributes{{"axis", std::int64_t{2}}};
  if (sizes.empty()) attributes.emplace_back("num_outputs", std::int64_t{3});
  const Val operands[] = {inputs.projected, sizes.empty() ? Val() : b.int64s(sizes)};
  const auto parts = b.nodes("Split", operands, std::move(attributes), 3);
  AttentionOperands attention{.q = to_heads(parts[0], heads),
                              .k = to_heads(parts[1], heads),
                              .v = to_heads(parts[2], heads),
                              .bias = inputs.bias};
  if (inputs.past) {
    const Val past = with_dim(inputs.past, 0, 2, "the first dim of past");
    attention.past_k = part_of_past(past, 0);
    attention.past_v = part_of_past(past, 1);
  }
  if (inputs.mask) {
    Val keys = attention.k;
    if (inputs.past) {
      const Val both[] = {attention.past_k, attention.k};
      keys = concat(both, 2);
    }
    const Val padding =
        padding_bias(inputs.mask, keys, double{context.attr_float("mask_filter_value", -10000)});
    attention.bias = add_if(padding, inputs.bias);
  }
  const bool with_present = context.has_output(1);
  const AttentionResults results = attend(context, attention, with_present);
  if (!with_present) return {results.y};
  const Val present[] = {unsqueeze(results.present_k, {0}), unsqueeze(results.present_v, {0})};
  return {results.y, concat(present, 0)};
}

void infer_self_attention(InferContext& context, const Dims& x, Dim v_hidden, std::size_t past,
                          DType dtype) {
  require_value(context, "do_rotary", 0);
  require_value(context, "past_present_share_buffer", 0);
  const std::int64_t heads = positive_attribute(context, "num_heads");
  if (v_hidden.known() && v_hidden.size() % heads != 0) {
    context.reject("hidden size ", v_hidden.size(), " is not a multiple of ", heads, " heads");
  }
  context.set_output(0, dtype, Dims{x[0], x[1], v_hidden});
  Dim total = x[1];
  if (context.has_input(past)) {
    const Dims before = dims_of_rank(context, past, 5, "past");
    unify(before[0], 2, "the first dim of past");
    unify(before[1], x[0], "batches");
    unify(before[2], heads, "heads of the past");
    total = add(total, before[3]);
  }
  const Dim size = v_hidden.known() ? Dim(v_hidden.size() / heads) : Dim();
  context.set_output(1, dtype, Dims{2, x[0], heads, total, size});
}

}  // namespace ondine::kernels
