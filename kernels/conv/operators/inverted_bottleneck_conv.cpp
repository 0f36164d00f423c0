// InvertedBottleneckConv (ai.ondine), a result of fuse_pointwise: a pointwise convolution, the
// depthwise convolution of its result and the pointwise convolution of that. Neither result between
// is stored.
//   (x, pointwise weights, B, depthwise weights, B, weights of the last convolution, B) -> y;
//   biases are optional, and so is the first convolution: without it x is convolved itself
// Attributes: those of the depthwise Conv; `activation` of y and `depthwise_activation`, Relu or
// Relu6, and `inner_activation` (pointwise_depthwise_operator.h).
#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/conv/operators/conv_shape.h"
#include "kernels/conv/operators/pointwise_depthwise_operator.h"
#include "kernels/conv/primitives/inverted_bottleneck.h"
#include "kernels/matmul/fused_activation.h"
#include "kernels/matmul/product_kernels.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t { projection_in = bias_in + 1, projection_bias_in };

void infer(InferContext& context) {
  std::optional<Dims> y = pointwise_depthwise_dims(context);
  require_same_dtype(context, {x_in, projection_in, projection_bias_in});
  Dim channels;
  if (const auto weights = dims_if_ranked(context, projection_in)) {
    require_pointwise(context, *weights, "last");
    channels = (*weights)[0];
    if (y) unify((*y)[1], (*weights)[1], "channels of the depthwise and of the last weights");
  }
  if (y) (*y)[1] = channels;
  require_bias(context, projection_bias_in, channels, "numbers of channels of the last B and W");
  context.set_output(0, context.dtype(x_in), y);
}

math::InvertedBottleneckDesc descriptor(const BindContext& context) {
  Shape results = *context.output_shape(0);
  math::InvertedBottleneckDesc desc;
  desc.out_channels = results[1];
  results[1] = context.shape(projection_in)[1];
  desc.inner = pointwise_depthwise_desc(context, results);
  desc.inner.activation = fused_activation(context, "depthwise_activation");
  desc.activation = fused_activation(context);
  return desc;
}

template <class C>
math::InvertedBottleneck<C> primitive_of(const BindContext& context) {
  return {descriptor(context), 1, product_kernels(context)};
}

RoundedInputs rounded_inputs(const BindContext& context) {
  if (!may_round(context.dtype(x_in))) return {};
  const auto primitive = primitive_of<float>(context);
  std::uint32_t factors = 0;
  if (primitive.rounds_expansion()) factors |= 1U << x_in | 1U << pointwise_in;
  if (primitive.rounds_projection()) factors |= 1U << projection_in;
  return {factors, primitive.reads_x() ? factors | 1U << x_in : factors};
}

RoundedResult rounded_result(const BindContext& context) {
  const bool rounds =
      may_round(context.dtype(x_in)) && primitive_of<float>(context).rounds_result();
  return rounds ? RoundedResult::where_read : RoundedResult::never;
}

template <class C>
Kernel bind_as(BindContext& context) {
  math::InvertedBottleneckDesc desc = descriptor(context);
  const auto full = primitive_of<C>(context);
  const bool expands = full.rounds_expansion(), projects = full.rounds_projection();
  Scratch scratch;
  const PointwiseDepthwiseInputs<C> inputs(context, scratch, full.reads_x(), expands);
  const StoredIn<C> projection(context, scratch, projection_in, projects);
  const ComputeIn<C> projection_bias(context, scratch, projection_bias_in);
  const StoredOut<C> y(context, scratch, 0, context.output_shape(0)->size(), full.rounds_result());
  inputs.set_stored(desc.inner);
  desc.projection_stored = projection.storage();
  desc.y_stored = y.storage();
  const math::InvertedBottleneck<C> primitive(desc, context.threads(), product_kernels(context));
  context.set_implementation(primitive.name(), primitive.isa());
  const std::size_t bytes = primitive.workspace();
  const std::size_t work = scratch.add_bytes(bytes);
  scratch.request(context);
  return [=](KernelContext& call) {
    primitive.run(call.pool(),
                  {.inner = inputs(call),
                   .projection = projection(call),
                   .projection_bias = projection_bias(call),
                   .y = y(call)},
                  {Scratch::at<std::byte>(call, work), bytes});
    y.store(call);
  };
}

Kernel bind(BindContext& context) {
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel { return bind_as<C>(context); });
}

std::vector<Val> expand(ExpandContext& context) {
  const Val results = activated(context, expand_pointwise_depthwise(context),
                                fused_activation(context, "depthwise_activation"));
  const Val y = context.builder().node(
      "Conv", {results, context.x(projection_in), context.x(projection_bias_in)});
  return {activated(context, y, fused_activation(context))};
}

}  // namespace

extern const OpDef inverted_bottleneck_conv{
    .name = "InvertedBottleneckConv",
    .domain = ondine_domain,
    .infer = infer,
    .bind = bind,
    .grad = grad_of_expansion,
    .expand = expand,
    .traits = {.per_sample = 1},
    .rounded = {.inputs = rounded_inputs, .result = rounded_result}};

}  // namespace ondine::kernels::ops
