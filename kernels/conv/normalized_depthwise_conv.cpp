// NormalizedDepthwiseConv (ai.ondine), a result of fuse_depthwise: y = Conv(z, w), depthwise, with
// z = BatchNormalizationActivation(x, scale, bias, mean, variance) by the statistics of the batch,
// which is not stored.
//   (x, scale, bias, mean, variance, w) -> y and the other outputs of BatchNormalization
// Attributes: those of Conv and of BatchNormalizationActivation.
#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/common/stored_input.h"
#include "kernels/conv/conv_shape.h"
#include "kernels/conv/normalized_conv.h"
#include "kernels/conv/normalized_depthwise_forward.h"
#include "kernels/norm/batch_normalization.h"

namespace ondine::kernels::ops {
namespace {

template <class C>
Kernel bind_as(BindContext& context) {
  const Shape in = context.shape(0);
  const std::int64_t n = in[1];
  math::NormalizedDepthwiseConvDesc desc;
  desc.shape = conv_shape(context, in, context.shape(5), *context.output_shape(0));
  desc.norm = normalization_desc(context);
  desc.norm.rounded = is_rounded<C>(context, 0);
  const math::NormalizedDepthwiseConv<C> primitive(desc, context.threads());
  context.set_implementation(primitive.name(), primitive.isa());
  const RunningStatistic<C> running{true, static_cast<C>(context.attr_float("momentum", 0.9F)), n};
  Scratch scratch;
  const StoredIn<C> x(context, scratch, 0);
  const ComputeIn<C> scale(context, scratch, 1);
  const ComputeIn<C> bias(context, scratch, 2);
  const ComputeIn<C> mean(context, scratch, 3);
  const ComputeIn<C> variance(context, scratch, 4);
  const ComputeIn<C> w(context, scratch, 5);
  const ComputeOut<C> y(context, scratch, 0, context.output_shape(0)->size(), true);
  const ComputeOut<C> new_mean(context, scratch, 1, n);
  const ComputeOut<C> new_variance(context, scratch, 2, n);
  const ComputeOut<C> used_mean(context, scratch, 3, n, true);
  const ComputeOut<C> used_variance(context, scratch, 4, n, true);
  const std::size_t bytes = primitive.workspace();
  const std::size_t work = scratch.add_bytes(bytes);
  scratch.request(context);
  const bool copies = context.has_output(5);
  return [=](KernelContext& call) {
    const C* const old_mean = mean(call);
    const C* const old_variance = variance(call);
    C* const m = used_mean.data(call);
    C* const v = used_variance.data(call);
    primitive.run(call.pool(),
                  {.x = x(call),
                   .scale = scale(call),
                   .bias = bias(call),
                   .w = w(call),
                   .y = y.data(call),
                   .rounded_x = copies ? call.out<std::uint16_t>(5) : nullptr,
                   .batch_mean = m,
                   .batch_variance = v},
                  {Scratch::at<std::byte>(call, work), bytes});
    running.write(call, new_mean, old_mean, m);
    running.write(call, new_variance, old_variance, v);
    y.store(call);
    used_mean.store(call);
    used_variance.store(call);
  };
}

Kernel bind(BindContext& context) {
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel { return bind_as<C>(context); });
}

}  // namespace

extern const OpDef normalized_depthwise_conv{.name = "NormalizedDepthwiseConv",
                                             .domain = ondine_domain,
                                             .infer = infer_normalized_conv,
                                             .bind = bind,
                                             .grad = grad_of_expansion,
                                             .expand = expand_normalized_conv,
                                             .rounded = {.reads = 0b1, .copy = 5}};

}  // namespace ondine::kernels::ops
