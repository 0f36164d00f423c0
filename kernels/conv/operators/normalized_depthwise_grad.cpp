// NormalizedDepthwiseConvGrad (ai.ondine), a result of fuse_depthwise_gradient: the derivatives of
// y = Conv(z, w), depthwise, with z = BatchNormalizationActivation(x, scale, bias) by the
// statistics of the batch.
//   (dy, w, x, scale, mean, variance, bias) -> dx, dscale, dbias, dw
// z is recomputed from x and neither z nor its derivative is stored. Attributes: those of Conv;
// epsilon; those of an activation as in BatchNormalizationActivation.
#include <limits>

#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/common/stored_input.h"
#include "kernels/conv/operators/conv_shape.h"
#include "kernels/conv/operators/normalized_conv.h"
#include "kernels/conv/primitives/normalized_depthwise.h"
#include "kernels/norm/batch_normalization.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  require_same_dtype(context, {0, 1, 2});
  require_derivative(context,
                     conv_dims(context, dims_if_ranked(context, 2), dims_if_ranked(context, 1)));
  Dim count;
  if (context.ranked(2)) count = channel_count(context.dims(2), true);
  for (std::size_t i = 3; i < 7; ++i) {
    if (context.ranked(i)) count = unify(count, product(context.dims(i)), "numbers of channels");
  }
  context.set_output(0, context.input(2));
  context.set_output(1, context.input(3));
  context.set_output(2, context.input(3));
  context.set_output(3, context.input(1));
}

template <class C>
math::NormalizedDepthwiseDesc desc_of(const BindContext& context) {
  const math::BatchNormDesc norm = normalization_desc(context);
  const bool above_low = activation_bounds(context).above_low;
  return {.shape = conv_shape(context, context.shape(2), context.shape(1), context.shape(0)),
          .epsilon = norm.epsilon,
          .floor = norm.low,
          .low = above_low ? double{std::numeric_limits<C>::denorm_min()} : norm.low,
          .high = norm.high,
          .x_stored = storage_of<C>(context, 2),
          .activation = norm.activation,
          .alpha = norm.alpha};
}

template <class C>
Kernel bind_as(BindContext& context) {
  const math::NormalizedDepthwiseGrad<C> primitive(desc_of<C>(context), context.threads());
  context.set_implementation(primitive.name(), primitive.isa());
  const std::int64_t channels = context.shape(2)[1];
  Scratch scratch;
  const ComputeIn<C> dy(context, scratch, 0);
  const ComputeIn<C> w(context, scratch, 1);
  const StoredIn<C> x(context, scratch, 2);
  const ComputeIn<C> scale(context, scratch, 3);
  const ComputeIn<C> mean(context, scratch, 4);
  const ComputeIn<C> variance(context, scratch, 5);
  const ComputeIn<C> bias(context, scratch, 6);
  const ComputeOut<C> dx(context, scratch, 0, context.shape(2).size(), true);
  const ComputeOut<C> dscale(context, scratch, 1, channels);
  const ComputeOut<C> dbias(context, scratch, 2, channels);
  const ComputeOut<C> dw(context, scratch, 3, context.shape(1).size());
  const std::size_t bytes = primitive.workspace();
  const std::size_t work = scratch.add_bytes(bytes);
  scratch.request(context);
  return [=](KernelContext& call) {
    primitive.run(call.pool(),
                  {.dy = dy(call),
                   .w = w(call),
                   .x = x(call),
                   .scale = scale(call),
                   .bias = bias(call),
                   .mean = mean(call),
                   .variance = variance(call),
                   .dx = dx.data(call),
                   .dscale = dscale.data(call),
                   .dbias = dbias.data(call),
                   .dw = dw.data(call)},
                  {Scratch::at<std::byte>(call, work), bytes});
    dx.store(call);
    dscale.store(call);
    dbias.store(call);
    dw.store(call);
  };
}

Kernel bind(BindContext& context) {
  return visit_compute(context.dtype(2), [&]<class C>() -> Kernel { return bind_as<C>(context); });
}

std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  const Val dy = context.x(0);
  const Val w = context.x(1);
  const Val x = context.x(2);
  const Attributes conv = convolution_attributes(context);
  const Attributes norm = normalization_attributes(context);
  const std::vector<Val> inputs{x, context.x(3), context.x(6), context.x(4), context.x(5)};
  const Val z = b.nodes("BatchNormalizationActivation", inputs, norm, 1, ondine_domain)[0];
  const Val dz = b.node("ConvGradInput", {dy, w, graph::shape_of(x)}, conv, ondine_domain);
  const Val dw = b.node("ConvGradWeight", {z, dy, graph::shape_of(w)}, conv, ondine_domain);
  const std::vector<Val> operands{dz, x, context.x(3), context.x(4), context.x(5), context.x(6)};
  std::vector<Val> results =
      b.nodes("BatchNormalizationActivationGrad", operands, norm, 3, ondine_domain);
  results.push_back(dw);
  return results;
}

}  // namespace

extern const OpDef normalized_depthwise_conv_grad{.name = "NormalizedDepthwiseConvGrad",
                                                  .domain = ondine_domain,
                                                  .infer = infer,
                                                  .bind = bind,
                                                  .grad = grad_of_expansion,
                                                  .expand = expand,
                                                  .rounded = {.reads = 0b100}};

}  // namespace ondine::kernels::ops
