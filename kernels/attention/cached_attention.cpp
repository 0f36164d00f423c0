// cached_attention.cpp — ScaledAttention of keys and values in two parts (ai.ondine): (q, earlier
// k, k, earlier v, v, mask?, more?) -> y, where k and v of ScaledAttention are the earlier rows and
// then the others. All have four dims and are float32. Attributes: those of ScaledAttention but
// transK; with rows_first the dims of k and v, and with interleaved those of all operands and of y,
// are samples, rows, heads, size. Few queries read both parts where they lie (few_queries.h); more
// of them copy the parts together. No derivative: split_cached_keys makes the operator where there
// is no Gradient.
#include "kernels/attention/attention_kernels.h"
#include "kernels/attention/attention_rules.h"
#include "kernels/attention/few_queries.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

constexpr std::size_t operands = 5;

Dims heads_first(const InferContext& context, std::size_t i) {
  if (context.rank(i) != 4) context.reject("input ", i, " has rank ", context.rank(i), ", not 4");
  const bool swapped = i == 0 ? is_interleaved(context) : has_rows_first(context);
  return swapped ? swap_heads(context.dims(i)) : context.dims(i);
}

// Dims of all rows of two parts.
Dims joined(const InferContext& context, std::size_t i) {
  Dims first = heads_first(context, i);
  const Dims second = heads_first(context, i + 1);
  for (const std::size_t axis : {0, 1, 3}) {
    first[axis] = unify(first[axis], second[axis], "dims of earlier and new rows");
  }
  first[2] = add(first[2], second[2]);
  return first;
}

Dims check(InferContext& context) {
  Dims y = heads_first(context, 0);
  const Dims k = joined(context, 1), v = joined(context, 3);
  y[0] = unify(y[0], unify(k[0], v[0], "samples of k and v"), "samples of q and k");
  const Dim heads = unify(k[1], v[1], "heads of k and v");
  if (heads.known() && y[1].known() && (heads.size() < 1 || y[1].size() % heads.size() != 0)) {
    context.reject(y[1].size(), " heads of q do not share ", heads.size(), " of k");
  }
  unify(y[3], k[3], "head sizes of q and k");
  Dims scores = y;
  scores[3] = unify(k[2], v[2], "rows of k and v");
  unify(heads_first(context, 0)[2], heads_first(context, 2)[2], "queries and new rows of k");
  check_mask(context, operands, scores);
  check_mask(context, operands + 1, scores);
  y[3] = v[3];
  return is_interleaved(context) ? swap_heads(std::move(y)) : y;
}

void infer(InferContext& context) {
  check_attributes(context);
  require_same_dtype(context, {0, 1, 2, 3, 4, 5, 6});
  if (context.dtype(0) != DType::float32) {
    context.reject("q is ", context.dtype(0), ", needed: float32");
  }
  bool ranked = true;
  for (std::size_t i = 0; i < operands; ++i) ranked = ranked && context.ranked(i);
  context.set_output(0, DType::float32, ranked ? std::optional(check(context)) : std::nullopt);
}

// Steps of an input, or of the output for i = operands.
math::HeadSteps steps_of(const Shape& shape, bool rows_first) {
  return math::HeadSteps::of(shape[rows_first ? 2 : 1], shape[rows_first ? 1 : 2], shape[3],
                             rows_first);
}

math::FewQueriesShape few_shape(const BindContext& context, const AttentionCall& layout) {
  const math::AttentionShape& s = layout.shape;
  const bool beside = is_interleaved(context), rows_first = has_rows_first(context);
  const Shape q = context.shape(0);
  Shape y = q;
  y[3] = s.v_head_size;
  const auto steps = [&](std::size_t i) { return steps_of(context.shape(i), rows_first); };
  return {.samples = q[0],
          .heads = q[beside ? 2 : 1],
          .queries = s.queries,
          .past = s.keys - s.queries,
          .head_size = s.head_size,
          .v_head_size = s.v_head_size,
          .group = s.group,
          .q = steps_of(q, beside),
          .past_k = steps(1),
          .k = steps(2),
          .past_v = steps(3),
          .v = steps(4),
          .y = steps_of(y, beside),
          .mask_per_query = s.mask_per_query};
}

bool takes_few(const BindContext& context, const AttentionCall& layout) {
  const math::AttentionShape& s = layout.shape;
  return s.queries > 0 && s.queries <= math::FewQueries::most && s.head_size > 0 &&
         s.v_head_size > 0 && s.count > 0 && !context.has_input(operands + 1) && !s.capped;
}

Kernel bind_few(BindContext& context, const AttentionCall& layout) {
  Scratch scratch;
  const MaskIn<float> mask(context, scratch, layout.mask, layout.shape.keys);
  const math::FewQueries attention(few_shape(context, layout), context.threads(),
                                   math::simd_tables());
  const std::size_t work = scratch.add_bytes(attention.workspace());
  context.set_implementation("few_queries", math::isa_name(math::simd_tables()));
  scratch.request(context);
  return [=](KernelContext& call) {
    attention.run(call.pool(),
                  {.q = call.in<float>(0),
                   .past_k = call.in<float>(1),
                   .k = call.in<float>(2),
                   .past_v = call.in<float>(3),
                   .v = call.in<float>(4),
                   .mask = mask(call),
                   .offsets = layout.mask.offsets.data(),
                   .scale = static_cast<float>(layout.scale),
                   .zero_rows = layout.zero_rows,
                   .y = call.out<float>(0)},
                  Scratch::at<std::byte>(call, work));
  };
}

Kernel bind(BindContext& context) {
  const AttentionCall layout = AttentionCall::in_parts(context);
  return takes_few(context, layout) ? bind_few(context, layout)
                                    : bind_attention_in_parts(context, layout);
}

std::vector<Val> expand(ExpandContext& context) {
  const bool rows_first = has_rows_first(context), beside = is_interleaved(context);
  const auto whole = [&](std::size_t i) {
    const Val rows =
        graph::concat(std::vector<Val>{context.x(i), context.x(i + 1)}, rows_first ? 1 : 2);
    return rows_first == beside ? rows : graph::transpose(rows, {0, 2, 1, 3});
  };
  std::vector<Val> inputs{context.x(0), whole(1), whole(3)};
  if (context.x(operands) || context.x(operands + 1)) inputs.push_back(context.x(operands));
  if (context.x(operands + 1)) inputs.push_back(context.x(operands + 1));
  return context.builder().nodes("ScaledAttention", inputs,
                                 {{"scale", context.attr_float("scale", 1)},
                                  {"zero_rows", std::int64_t{has_zero_rows(context)}},
                                  {"replaces", context.attr_string("replaces", "")},
                                  {"softcap", context.attr_float("softcap", 0)},
                                  {"interleaved", std::int64_t{beside}}},
                                 1, ondine_domain);
}

}  // namespace

extern const OpDef cached_attention{.name = "CachedAttention",
                                    .domain = ondine_domain,
                                    .infer = infer,
                                    .bind = bind,
                                    .expand = expand,
                                    .no_gradient = any_input};

}  // namespace ondine::kernels::ops
