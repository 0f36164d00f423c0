// qattention.cpp — com.microsoft QAttention: Attention whose projection multiplies a quantized
// input by quantized weights, which have one scale or one for each column.
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/contrib/attention_core.h"
#include "kernels/contrib/contrib.h"
#include "kernels/contrib/quantized.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t {
  x_in,
  weights_in,
  projection_bias_in,
  x_scale_in,
  weights_scale_in,
  mask_in,
  x_point_in,
  weights_point_in,
  past_in
};

void infer(InferContext& context) {
  check_call(context, {.required = 0b11111,
                       .inputs = 9,
                       .outputs = 2,
                       .attributes = {"do_rotary", "mask_filter_value", "num_heads",
                                      "past_present_share_buffer", "scale", "unidirectional"}});
  require_quantized(context, x_in, x_scale_in, x_point_in);
  require_quantized(context, weights_in, weights_scale_in, weights_point_in);
  require_floats(context, {projection_bias_in, x_scale_in, weights_scale_in, past_in});
  const Dims x = dims_of_rank(context, x_in, 3, "the input");
  const Dims weights = dims_of_rank(context, weights_in, 2, "weights");
  unify(x[2], weights[0], "inner dimensions of input and weights");
  const Dim columns = unify(weights[1], dims_of_rank(context, projection_bias_in, 1, "bias")[0],
                            "columns and bias");
  if (columns.known() && columns.size() % 3 != 0) {
    context.reject(columns.size(), " columns are not 3 parts");
  }
  infer_self_attention(context, x, columns.known() ? Dim(columns.size() / 3) : Dim(), past_in,
                       context.dtype(projection_bias_in));
}

std::vector<Val> expand(ExpandContext& context) {
  const Val projected = graph::matmul(
      dequantize(context.x(x_in), context.x(x_scale_in), context.x(x_point_in)),
      dequantize(context.x(weights_in), context.x(weights_scale_in), context.x(weights_point_in)));
  return self_attention(context,
                        {.projected = add_projection_bias(projected, context.x(projection_bias_in)),
                         .mask = context.x(mask_in),
                         .past = context.x(past_in),
                         .bias = {}});
}

}  // namespace

extern const OpDef qattention{
    .name = "QAttention", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
