#include "kernels/conv/operators/pointwise_depthwise_operator.h"

#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/conv/operators/conv_shape.h"
#include "kernels/conv/operators/normalized_conv.h"
#include "kernels/matmul/fused_activation.h"

namespace ondine::kernels::ops {
namespace {

bool is_other_than_one(Dim dim) { return dim.known() && dim.size() != 1; }

}  // namespace

void require_pointwise(InferContext& context, const Dims& weights, std::string_view what) {
  if (weights.size() == 4 && !is_other_than_one(weights[2]) && !is_other_than_one(weights[3])) {
    return;
  }
  context.reject(what, " weights have shape ", graph::to_string(weights),
                 ", expected [channels, channels of x, 1, 1]");
}

void require_bias(InferContext& context, std::size_t i, Dim channels, std::string_view what) {
  if (context.has_input(i)) unify(dims_of_rank(context, i, 1, "B")[0], channels, what);
}

std::optional<Dims> pointwise_depthwise_dims(InferContext& context) {
  require_same_dtype(context, {x_in, pointwise_in, inner_bias_in, depthwise_in, bias_in});
  std::optional<Dims> z = dims_if_ranked(context, x_in);
  if (z && z->size() != 4) context.reject("x has rank ", z->size(), ", expected 4");
  Dim channels;
  if (!context.has_input(pointwise_in)) {
    if (z) channels = (*z)[1];
  } else if (const auto pointwise = dims_if_ranked(context, pointwise_in)) {
    require_pointwise(context, *pointwise, "pointwise");
    channels = (*pointwise)[0];
    if (z) unify((*z)[1], (*pointwise)[1], "channels of x and of the pointwise weights");
  }
  if (z) (*z)[1] = channels;
  const auto y = conv_dims(context, z, dims_if_ranked(context, depthwise_in));
  require_bias(context, inner_bias_in, channels, "numbers of channels of the first B and W");
  if (y) require_bias(context, bias_in, (*y)[1], "numbers of channels of the second B and W");
  return y;
}

math::PointwiseDepthwiseDesc pointwise_depthwise_desc(const BindContext& context, const Shape& y) {
  Shape z = context.shape(x_in);
  math::PointwiseDepthwiseDesc desc;
  desc.in_channels = 0;
  if (context.has_input(pointwise_in)) {
    const Shape weights = context.shape(pointwise_in);
    z[1] = weights[0];
    desc.in_channels = weights[1];
  }
  desc.shape = conv_shape(context, z, context.shape(depthwise_in), y);
  desc.inner = named_activation(context, "inner_activation");
  desc.alpha = static_cast<double>(context.attr_float("inner_alpha", 1.0F));
  return desc;
}

Val expand_pointwise_depthwise(ExpandContext& context) {
  Builder& b = context.builder();
  Val z = context.x(x_in);
  if (context.node().inputs[pointwise_in] != graph::no_value) {
    z = b.node("Conv", {z, context.x(pointwise_in), context.x(inner_bias_in)});
    z = activated(context, z, named_activation(context, "inner_activation"),
                  context.attr_float("inner_alpha", 1.0F));
  }
  return b.node("Conv", {z, context.x(depthwise_in), context.x(bias_in)},
                convolution_attributes(context));
}

}  // namespace ondine::kernels::ops
