// packed_attention.cpp — ScaledAttention of interleaved heads whose q, k and v are parts of one
// operand, ..., rows, 3, heads, size, as one product computes them (ai.ondine): y is ..., rows,
// heads, size. Attributes scale (1), zero_rows (0), replaces, softcap (0). Inputs: the operand and
// two masks, which broadcast to the scores; both may be left out. PackedAttentionGrad (dy, operand,
// mask?, more?) -> derivatives of operand and mask, by those of ScaledAttention.
#include <vector>

#include "kernels/attention/attention_kernels.h"
#include "kernels/attention/attention_rules.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

// Checks the operand, which is input `at`, and the mask after it, and returns the dims of y.
Dims check(InferContext& context, std::size_t at) {
  check_attributes(context);
  require_same_dtype(context, {at, at + 1, at + 2});
  Dims dims = context.dims(at);
  const bool has_parts = dims.size() >= 4;
  if (!has_parts || (dims[dims.size() - 3].known() && !dims[dims.size() - 3].same(3))) {
    context.reject("q, k and v must be ..., rows, 3, heads, size, found ", to_string(dims));
  }
  dims.erase(dims.end() - 3);
  Dims scores = swap_heads(dims);
  scores.back() = scores[scores.size() - 2];
  check_mask(context, at + 1, scores);
  check_mask(context, at + 2, scores);
  return dims;
}

std::optional<Dims> checked(InferContext& context, std::size_t at) {
  return context.ranked(at) ? std::optional(check(context, at)) : std::nullopt;
}

void infer(InferContext& context) { context.set_output(0, context.dtype(0), checked(context, 0)); }

void infer_grad(InferContext& context) {
  infer_attention_gradient(context, checked(context, 1), 1);
}

Kernel bind(BindContext& context) {
  return bind_attention(context, AttentionCall::packed(context, 0));
}

Kernel bind_grad(BindContext& context) {
  return bind_attention_gradient(context, AttentionCall::packed(context, 1));
}

Attributes attributes_of(const NodeView& node) {
  return {{"scale", node.attr_float("scale", 1)},
          {"zero_rows", std::int64_t{has_zero_rows(node)}},
          {"replaces", node.attr_string("replaces", "")},
          {"softcap", node.attr_float("softcap", 0)},
          {"interleaved", std::int64_t{1}}};
}

// q, k, v and the masks, after `before`.
std::vector<Val> separated(Val operand, Val mask, Val more, std::vector<Val> before = {}) {
  const auto axis = static_cast<std::int64_t>(operand.rank()) - 3;
  const auto parts = operand.builder().nodes("Split", {&operand, 1},
                                             {{"axis", axis}, {"num_outputs", std::int64_t{3}}}, 3);
  for (const Val part : parts) before.push_back(graph::squeeze(part, {axis}));
  if (mask || more) before.push_back(mask);
  if (more) before.push_back(more);
  return before;
}

template <std::size_t At>
RoundedInputs rounded_at(const BindContext& context) {
  return rounded_operands(context, AttentionCall::packed(context, At));
}

std::vector<Val> expand(ExpandContext& context) {
  return context.builder().nodes("ScaledAttention",
                                 separated(context.x(0), context.x(1), context.x(2)),
                                 attributes_of(context), 1, ondine_domain);
}

std::vector<Val> grad(GradContext& g) { return attention_gradient(g, "PackedAttentionGrad", 1); }

std::vector<Val> expand_grad(ExpandContext& context) {
  const bool trains_mask = context.has_output(1);
  auto parts = context.builder().nodes(
      "ScaledAttentionGrad", separated(context.x(1), context.x(2), context.x(3), {context.x(0)}),
      attributes_of(context), trains_mask ? 4 : 3, ondine_domain);
  const auto axis = static_cast<std::int64_t>(context.x(1).rank()) - 3;
  std::vector<Val> apart;
  for (std::size_t i = 0; i < 3; ++i) apart.push_back(graph::unsqueeze(parts[i], {axis}));
  std::vector<Val> results{graph::concat(apart, axis)};
  if (trains_mask) results.push_back(parts[3]);
  return results;
}

}  // namespace

extern const OpDef packed_attention{.name = "PackedAttention",
                                    .domain = ondine_domain,
                                    .infer = infer,
                                    .bind = bind,
                                    .grad = grad,
                                    .expand = expand,
                                    .rounded = {.writes = true, .inputs = rounded_at<0>}};
extern const OpDef packed_attention_grad{.name = "PackedAttentionGrad",
                                         .domain = ondine_domain,
                                         .infer = infer_grad,
                                         .bind = bind_grad,
                                         .grad = grad_of_expansion,
                                         .expand = expand_grad,
                                         .traits = {.cannot_fail = true},
                                         .rounded = {.inputs = rounded_at<1>}};

}  // namespace ondine::kernels::ops
