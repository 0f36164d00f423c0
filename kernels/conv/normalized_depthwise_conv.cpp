// NormalizedDepthwiseConv (ai.ondine), a result of fuse_depthwise: y = Conv(z, w), depthwise, with
// z = BatchNormalizationActivation(x, scale, bias, mean, variance) by the statistics of the batch,
// which is not stored.
//   (x, scale, bias, mean, variance, w) -> y and the other outputs of BatchNormalization
// Attributes: those of Conv and of BatchNormalizationActivation.
#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/conv/conv_shape.h"
#include "kernels/conv/normalized_conv.h"
#include "kernels/conv/normalized_conv_operands.h"
#include "kernels/conv/normalized_depthwise_forward.h"
#include "kernels/norm/batch_normalization.h"

namespace ondine::kernels::ops {
namespace {

template <class C>
Kernel bind_as(BindContext& context) {
  const Shape in = context.shape(0);
  math::NormalizedDepthwiseConvDesc desc;
  desc.shape = conv_shape(context, in, context.shape(5), *context.output_shape(0));
  desc.norm = normalization_desc(context);
  desc.norm.rounded = is_rounded<C>(context, 0);
  const math::NormalizedDepthwiseConv<C> primitive(desc, context.threads());
  context.set_implementation(primitive.name(), primitive.isa());
  Scratch scratch;
  const NormalizedConvOperands<C> operands(context, scratch, true);
  const std::size_t bytes = primitive.workspace();
  const std::size_t work = scratch.add_bytes(bytes);
  scratch.request(context);
  const bool copies = context.has_output(5);
  return [=](KernelContext& call) {
    math::NormalizedDepthwiseConvArgs<C> args;
    if (copies) args.rounded_x = call.out<std::uint16_t>(5);
    operands.run(call, args, [&](const auto& all) {
      primitive.run(call.pool(), all, {Scratch::at<std::byte>(call, work), bytes});
    });
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
