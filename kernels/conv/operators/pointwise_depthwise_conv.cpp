// PointwiseDepthwiseConv (ai.ondine), a result of fuse_pointwise: a pointwise convolution and the
// depthwise convolution of its result z, which is not stored.
//   (x, pointwise weights, B, depthwise weights, B) -> y; both biases are optional
// Attributes: those of the depthwise Conv; `activation` of y, Relu or Relu6, and `inner_activation`
// of z (pointwise_depthwise_operator.h).
#include "kernels/conv/primitives/pointwise_depthwise.h"

#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/conv/operators/pointwise_depthwise_operator.h"
#include "kernels/matmul/fused_activation.h"
#include "kernels/matmul/product_kernels.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  if (!context.has_input(pointwise_in)) context.reject("the pointwise weights are missing");
  const auto y = pointwise_depthwise_dims(context);
  context.set_output(0, context.dtype(x_in), y);
}

math::PointwiseDepthwiseDesc descriptor(const BindContext& context) {
  math::PointwiseDepthwiseDesc desc = pointwise_depthwise_desc(context, *context.output_shape(0));
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
  Scratch scratch;
  const PointwiseDepthwiseInputs<C> inputs(context, scratch, rounds, rounds);
  const StoredOut<C> y(context, scratch, 0, context.output_shape(0)->size());
  inputs.set_stored(desc);
  desc.y_stored = y.storage();
  const math::PointwiseDepthwise<C> primitive(desc, context.threads(), product_kernels(context));
  context.set_implementation(primitive.name(), primitive.isa());
  const std::size_t bytes = primitive.workspace();
  const std::size_t work = scratch.add_bytes(bytes);
  scratch.request(context);
  return [=](KernelContext& call) {
    math::PointwiseDepthwiseArgs<C> args = inputs(call);
    args.y = y(call);
    primitive.run(call.pool(), args, {Scratch::at<std::byte>(call, work), bytes});
    y.store(call);
  };
}

Kernel bind(BindContext& context) {
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel { return bind_as<C>(context); });
}

std::vector<Val> expand(ExpandContext& context) {
  return {activated(context, expand_pointwise_depthwise(context), fused_activation(context))};
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
