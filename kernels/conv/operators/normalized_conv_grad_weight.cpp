// NormalizedConvGradWeight (ai.ondine), a result of fuse_normalized_conv: the derivative by w of
// y = Conv(z, w) with z = BatchNormalizationActivation(x, scale, bias) by the statistics of the
// batch.
//   (x, scale, bias, mean, variance, dy, shape of w) -> dw
// z is computed from x and not stored. Attributes: those of Conv; epsilon; those of an activation
// as in BatchNormalizationActivation.
#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/op.h"
#include "kernels/conv/operators/conv_shape.h"
#include "kernels/conv/operators/normalized_conv.h"
#include "kernels/conv/primitives/normalized_images.h"
#include "kernels/conv/primitives/normalized_pointwise.h"
#include "kernels/norm/batch_normalization.h"

namespace ondine::kernels::ops {
namespace {

enum Operand : std::size_t { dy_in = 5, shape_in };

void infer(InferContext& context) {
  require_same_dtype(context, {0, dy_in});
  Dim channels;
  if (context.ranked(0)) channels = channel_count(context.dims(0), true);
  for (std::size_t i = 1; i < dy_in; ++i) {
    if (context.ranked(i)) unify(channels, product(context.dims(i)), "numbers of channels");
  }
  const auto dw = dims_from_input(context, shape_in);
  const auto y = conv_dims(context, dims_if_ranked(context, 0), dw);
  const auto dy = dims_if_ranked(context, dy_in);
  if (y && dy &&
      !compatible(Type::tensor(context.dtype(0), *y), Type::tensor(context.dtype(0), *dy))) {
    context.reject("dy has shape ", graph::to_string(*dy), ", expected ", graph::to_string(*y));
  }
  context.set_output(0, context.dtype(0), dw);
}

template <class C, class Primitive>
Kernel bind_primitive(BindContext& context, const Primitive& primitive) {
  Scratch scratch;
  const ComputeIn<C> x(context, scratch, 0);
  const ComputeIn<C> scale(context, scratch, 1);
  const ComputeIn<C> bias(context, scratch, 2);
  const ComputeIn<C> mean(context, scratch, 3);
  const ComputeIn<C> variance(context, scratch, 4);
  const ComputeIn<C> dy(context, scratch, dy_in);
  const ComputeOut<C> dw(context, scratch, 0, context.output_shape(0)->size());
  const std::size_t bytes = primitive.workspace();
  const std::size_t work = scratch.add_bytes(bytes);
  scratch.request(context);
  return [=](KernelContext& call) {
    const math::NormalizedConvWeightsArgs<C> args{
        .z = {x(call), scale(call), bias(call), mean(call), variance(call)},
        .dy = dy(call),
        .dw = dw.data(call)};
    primitive.run(call.pool(), args, {Scratch::at<std::byte>(call, work), bytes});
    dw.store(call);
  };
}

template <class C>
Kernel bind_as(BindContext& context) {
  const math::ConvShape shape =
      conv_shape(context, context.shape(0), *context.output_shape(0), context.shape(dy_in));
  const math::BatchNormDesc norm = normalization_desc(context);
  if (const auto desc = math::normalized_pointwise(shape, norm)) {
    const math::NormalizedPointwiseWeights<C> primitive(*desc, context.threads());
    context.set_implementation("normalized_pointwise", primitive.isa());
    return bind_primitive<C>(context, primitive);
  }
  const math::NormalizedImages<C> primitive({shape, norm}, math::ConvDirection::backward_weights,
                                            context.threads());
  context.set_implementation(primitive.name(), primitive.isa());
  return bind_primitive<C>(context, primitive);
}

Kernel bind(BindContext& context) {
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel { return bind_as<C>(context); });
}

std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  graph::Attributes norm = normalization_attributes(context);
  std::erase_if(norm, [](const auto& each) { return each.name == "training_mode"; });
  std::vector<Val> inputs;
  for (std::size_t i = 0; i < dy_in; ++i) inputs.push_back(context.x(i));
  const Val z = b.nodes("BatchNormalizationActivation", inputs, norm, 1, ondine_domain)[0];
  return {b.node("ConvGradWeight", {z, context.x(dy_in), context.x(shape_in)},
                 convolution_attributes(context), ondine_domain)};
}

}  // namespace

extern const OpDef normalized_conv_grad_weight{.name = "NormalizedConvGradWeight",
                                               .domain = ondine_domain,
                                               .infer = infer,
                                               .bind = bind,
                                               .grad = grad_of_expansion,
                                               .expand = expand,
                                               .traits = {.cannot_fail = true}};

}  // namespace ondine::kernels::ops
