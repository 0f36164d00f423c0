// attention.cpp — com.microsoft Attention: the projection x w + b to queries, keys and values, then
// attention. Masks are added to the scores as mask_filter_value.
#include <algorithm>

#include "core/checked.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/contrib/attention_core.h"
#include "kernels/contrib/contrib.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t { x_in, weights_in, projection_bias_in, mask_in, past_in, bias_in };

void infer(InferContext& context) {
  check_call(context, {.required = 0b11,
                       .inputs = 6,
                       .outputs = 2,
                       .attributes = {"do_rotary", "mask_filter_value", "num_heads",
                                      "past_present_share_buffer", "qkv_hidden_sizes",
                                      "rotary_embedding_dim", "scale", "unidirectional"}});
  require_floats(context, {x_in, weights_in, projection_bias_in, past_in, bias_in});
  const Dims x = dims_of_rank(context, x_in, 3, "the input");
  const Dims weights = dims_of_rank(context, weights_in, 2, "weights");
  unify(x[2], weights[0], "inner dimensions of input and weights");
  if (context.has_input(projection_bias_in)) {
    unify(weights[1], dims_of_rank(context, projection_bias_in, 1, "bias")[0],
          "columns of weights and bias");
  }
  const auto sizes = context.attr_ints("qkv_hidden_sizes");
  if (!sizes.empty() &&
      (sizes.size() != 3 || sizes[0] != sizes[1] || std::ranges::min(sizes) < 0)) {
    context.reject("qkv_hidden_sizes must be three sizes, those of Q and K the same");
  }
  Dim hidden;
  if (!sizes.empty()) {
    const std::int64_t columns = checked_add(checked_add(sizes[0], sizes[1]), sizes[2]);
    unify(weights[1], columns, "columns of weights and qkv_hidden_sizes");
    hidden = sizes[2];
  } else if (weights[1].known()) {
    if (weights[1].size() % 3 != 0) context.reject(weights[1].size(), " columns are not 3 parts");
    hidden = weights[1].size() / 3;
  }
  infer_self_attention(context, x, hidden, past_in, context.dtype(x_in));
}

std::vector<Val> expand(ExpandContext& context) {
  const Val projected = graph::matmul(context.x(x_in), context.x(weights_in));
  return self_attention(context,
                        {.projected = add_projection_bias(projected, context.x(projection_bias_in)),
                         .mask = context.x(mask_in),
                         .past = context.x(past_in),
                         .bias = context.x(bias_in)});
}

}  // namespace

extern const OpDef contrib_attention{
    .name = "Attention", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
