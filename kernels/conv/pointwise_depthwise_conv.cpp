// PointwiseDepthwiseConv (ai.ondine), a result of fuse_pointwise: a pointwise convolution and the
// depthwise convolution of its result z, which is not stored.
//   (x, pointwise weights, B, depthwise weights, B) -> y; both biases are optional
// Attributes: those of the depthwise Conv; `activation` of y, Relu or Relu6, and `inner_activation`
// of z, these or HardSwish or Swish, the latter by `inner_alpha`.
#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/conv/conv_shape.h"
#include "kernels/conv/normalized_conv.h"
#include "kernels/conv/pointwise_depthwise.h"
#include "kernels/matmul/fused_activation.h"
#include "kernels/matmul/product_kernels.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t { x_in, pointwise_in, inner_bias_in, depthwise_in, bias_in };

struct Inner {
  math::InnerActivation activation;
  float alpha;
};

Inner inner_activation(const NodeView& node) {
  using enum math::InnerActivation;
  const std::string name = node.attr_string("inner_activation", "");
  const float alpha = node.attr_float("inner_alpha", 1.0F);
  if (name.empty()) return {none, alpha};
  if (name == "Relu") return {relu, alpha};
  if (name == "Relu6") return {relu6, alpha};
  if (name == "HardSwish") return {hard_swish, alpha};
  if (name == "Swish") return {swish, alpha};
  fail(ErrorCode::mismatch, "unknown activation ", quoted(name));
}

bool is_other_than_one(Dim dim) { return dim.known() && dim.size() != 1; }

void require_bias(InferContext& context, std::size_t i, Dim channels, std::string_view what) {
  if (context.has_input(i)) unify(dims_of_rank(context, i, 1, "B")[0], channels, what);
}

void infer(InferContext& context) {
  require_same_dtype(context, {x_in, pointwise_in, inner_bias_in, depthwise_in, bias_in});
  std::optional<Dims> z = dims_if_ranked(context, x_in);
  const auto pointwise = dims_if_ranked(context, pointwise_in);
  Dim channels;
  if (pointwise) {
    if (pointwise->size() != 4 || is_other_than_one((*pointwise)[2]) ||
        is_other_than_one((*pointwise)[3])) {
      context.reject("pointwise weights have shape ", graph::to_string(*pointwise),
                     ", expected [channels, channels of x, 1, 1]");
    }
    channels = (*pointwise)[0];
  }
  if (z) {
    if (z->size() != 4) context.reject("x has rank ", z->size(), ", expected 4");
    if (pointwise) unify((*z)[1], (*pointwise)[1], "channels of x and of the pointwise weights");
    (*z)[1] = channels;
  }
  const auto y = conv_dims(context, z, dims_if_ranked(context, depthwise_in));
  require_bias(context, inner_bias_in, channels, "numbers of channels of the first B and W");
  if (y) require_bias(context, bias_in, (*y)[1], "numbers of channels of the second B and W");
  context.set_output(0, context.dtype(x_in), y);
}

math::PointwiseDepthwiseDesc descriptor(const BindContext& context) {
  const Shape weights = context.shape(pointwise_in);
  Shape z = context.shape(x_in);
  z[1] = weights[0];
  math::PointwiseDepthwiseDesc desc;
  desc.shape = conv_shape(context, z, context.shape(depthwise_in), *context.output_shape(0));
  desc.in_channels = weights[1];
  const Inner inner = inner_activation(context);
  desc.inner = inner.activation;
  desc.alpha = static_cast<double>(inner.alpha);
  desc.activation = fused_activation(context);
  return desc;
}

// Whether the factors of the product may be bfloat16.
template <class C>
bool rounds_factors(const BindContext& context) {
  return math::PointwiseDepthwise<C>(descriptor(context), 1, product_kernels(context))
      .rounds_factors();
}

RoundedInputs rounded_inputs(const BindContext& context) {
  if (!may_round(context.dtype(x_in))) return {};
  const std::uint32_t factors =
      rounds_factors<float>(context) ? 1U << x_in | 1U << pointwise_in : 0;
  return {factors, factors};
}

RoundedResult rounded_result(const BindContext& context) {
  return rounded_inputs(context).read != 0 ? RoundedResult::where_read : RoundedResult::never;
}

template <class C>
Kernel bind_as(BindContext& context) {
  math::PointwiseDepthwiseDesc desc = descriptor(context);
  const bool rounds = rounds_factors<C>(context);
  desc.x_rounded = rounds && is_rounded<C>(context, x_in);
  desc.pointwise_rounded = rounds && is_rounded<C>(context, pointwise_in);
  Scratch scratch;
  const StoredIn<C> x(context, scratch, x_in, rounds);
  const StoredIn<C> pointwise(context, scratch, pointwise_in, rounds);
  const ComputeIn<C> inner_bias(context, scratch, inner_bias_in);
  const ComputeIn<C> depthwise(context, scratch, depthwise_in);
  const ComputeIn<C> bias(context, scratch, bias_in);
  const RoundableOut<C> y(context, scratch, 0, context.output_shape(0)->size());
  desc.y_rounded = y.is_rounded();
  const math::PointwiseDepthwise<C> primitive(desc, context.threads(), product_kernels(context));
  context.set_implementation(primitive.name(), primitive.isa());
  const std::size_t bytes = primitive.workspace();
  const std::size_t work = scratch.add_bytes(bytes);
  scratch.request(context);
  return [=](KernelContext& call) {
    primitive.run(call.pool(),
                  {.x = x(call),
                   .pointwise = pointwise(call),
                   .inner_bias = inner_bias(call),
                   .depthwise = depthwise(call),
                   .bias = bias(call),
                   .y = product_memory(y, call)},
                  {Scratch::at<std::byte>(call, work), bytes});
    y.store(call);
  };
}

Kernel bind(BindContext& context) {
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel { return bind_as<C>(context); });
}

Val with_inner_activation(ExpandContext& context, const Val& z) {
  const Inner inner = inner_activation(context);
  switch (inner.activation) {
    case math::InnerActivation::relu:
      return activated(context, z, math::Activation::relu);
    case math::InnerActivation::relu6:
      return activated(context, z, math::Activation::relu6);
    case math::InnerActivation::hard_swish:
      return unary("HardSwish", z);
    case math::InnerActivation::swish:
      return context.builder().node("Swish", {z}, {{"alpha", inner.alpha}});
    case math::InnerActivation::none:
      break;
  }
  return z;
}

std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  const Val z =
      b.node("Conv", {context.x(x_in), context.x(pointwise_in), context.x(inner_bias_in)});
  const Val y = b.node(
      "Conv", {with_inner_activation(context, z), context.x(depthwise_in), context.x(bias_in)},
      convolution_attributes(context));
  return {activated(context, y, fused_activation(context))};
}

}  // namespace

extern const OpDef pointwise_depthwise_conv{
    .name = "PointwiseDepthwiseConv",
    .domain = ondine_domain,
    .infer = infer,
    .bind = bind,
    .grad = grad_of_expansion,
    .expand = expand,
    .traits = {.per_sample = 1},
    .rounded = {.inputs = rounded_inputs, .result = rounded_result}};

}  // namespace ondine::kernels::ops
