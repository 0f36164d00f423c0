// NormalizedPointwiseConv (ai.ondine), a result of fuse_normalized_pointwise: y = Conv(z, w),
// pointwise, over planes, with z = BatchNormalizationActivation(x, scale, bias, mean, variance) by
// the statistics of the batch, which is not stored.
//   (x, scale, bias, mean, variance, w, x_mean, x_variance) -> y and the other outputs of
//                                                                BatchNormalization
// x_mean and x_variance are the statistics of x, given where the operator that made x found them.
// Attributes: those of Conv and of BatchNormalizationActivation.
#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/conv/algorithms/algorithm.h"
#include "kernels/conv/operators/conv_shape.h"
#include "kernels/conv/operators/normalized_conv.h"
#include "kernels/conv/operators/normalized_conv_operands.h"
#include "kernels/conv/primitives/normalized_pointwise.h"
#include "kernels/norm/batch_normalization.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  infer_normalized_conv(context);
  if (context.has_input(6) != context.has_input(7)) {
    context.reject("the mean and the variance of x are given together");
  }
  if (!context.has_input(6) || !context.ranked(0)) return;
  for (const std::size_t i : {std::size_t{6}, std::size_t{7}}) {
    if (!context.ranked(i)) continue;
    unify(channel_count(context.dims(0), true), product(context.dims(i)), "numbers of channels");
  }
}

template <class C>
Kernel bind_as(BindContext& context) {
  const Shape in = context.shape(0);
  const auto shape = conv_shape(context, in, context.shape(5), *context.output_shape(0));
  if (!math::is_pointwise(shape) || shape.groups != 1) {
    fail(ErrorCode::unsupported,
         "a convolution of normalized planes by windows of one element needs stride 1, no padding "
         "and one group");
  }
  const math::NormalizedPointwiseDesc desc{shape.batch, shape.in_channels, shape.out_channels,
                                           math::volume(shape.in), normalization_desc(context)};
  const math::NormalizedPointwiseConv<C> primitive(desc, context.threads());
  context.set_implementation("normalized_pointwise", primitive.isa());
  Scratch scratch;
  const NormalizedConvOperands<C> operands(context, scratch, false);
  const ComputeIn<C> x_mean(context, scratch, 6);
  const ComputeIn<C> x_variance(context, scratch, 7);
  const std::size_t bytes = primitive.workspace();
  const std::size_t work = scratch.add_bytes(bytes);
  scratch.request(context);
  return [=](KernelContext& call) {
    math::NormalizedPointwiseArgs<C> args;
    args.mean = x_mean(call);
    args.variance = x_variance(call);
    operands.run(call, args, [&](const auto& all) {
      primitive.run(call.pool(), all, {Scratch::at<std::byte>(call, work), bytes});
    });
  };
}

Kernel bind(BindContext& context) {
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel { return bind_as<C>(context); });
}

}  // namespace

extern const OpDef normalized_pointwise_conv{.name = "NormalizedPointwiseConv",
                                             .domain = ondine_domain,
                                             .infer = infer,
                                             .bind = bind,
                                             .grad = grad_of_expansion,
                                             .expand = expand_normalized_conv};

}  // namespace ondine::kernels::ops
