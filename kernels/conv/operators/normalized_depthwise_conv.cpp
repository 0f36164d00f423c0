// NormalizedDepthwiseConv (ai.ondine), a result of fuse_depthwise: y = Conv(z, w), depthwise, with
// z = BatchNormalizationActivation(x, scale, bias, mean, variance) by the statistics of the batch,
// which is not stored.
//   (x, scale, bias, mean, variance, w) -> y, the other outputs of BatchNormalization, and mean and
//   variance of each channel of y, for the operator that normalizes y
// Attributes: those of Conv and of BatchNormalizationActivation.
#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/conv/operators/conv_shape.h"
#include "kernels/conv/operators/normalized_conv.h"
#include "kernels/conv/operators/normalized_conv_operands.h"
#include "kernels/conv/primitives/normalized_depthwise_forward.h"
#include "kernels/norm/batch_normalization.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  infer_normalized_conv(context);
  for (const std::size_t i : {std::size_t{5}, std::size_t{6}}) {
    if (!context.has_output(i)) continue;
    Type type = context.input(3);
    type.dtype = saved_dtype(context.dtype(0));
    context.set_output(i, type);
  }
}

template <class C>
Kernel bind_as(BindContext& context) {
  const Shape in = context.shape(0);
  math::NormalizedDepthwiseConvDesc desc;
  desc.shape = conv_shape(context, in, context.shape(5), *context.output_shape(0));
  desc.norm = normalization_desc(context);
  desc.norm.x_stored = storage_of<C>(context, 0);
  const math::NormalizedDepthwiseConv<C> primitive(desc, context.threads());
  context.set_implementation(primitive.name(), primitive.isa());
  Scratch scratch;
  const NormalizedConvOperands<C> operands(context, scratch, true);
  const bool finds_statistics = context.has_output(5) || context.has_output(6);
  const ComputeOut<C> y_mean(context, scratch, 5, in[1], finds_statistics);
  const ComputeOut<C> y_variance(context, scratch, 6, in[1], finds_statistics);
  const std::size_t bytes = primitive.workspace();
  const std::size_t work = scratch.add_bytes(bytes);
  scratch.request(context);
  const bool copies = context.has_output(7);
  return [=](KernelContext& call) {
    math::NormalizedDepthwiseConvArgs<C> args;
    if (copies) args.bf16_x = call.out<std::uint16_t>(7);
    args.y_mean = y_mean.data(call);
    args.y_variance = y_variance.data(call);
    operands.run(call, args, [&](const auto& all) {
      primitive.run(call.pool(), all, {Scratch::at<std::byte>(call, work), bytes});
    });
    y_mean.store(call);
    y_variance.store(call);
  };
}

Kernel bind(BindContext& context) {
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel { return bind_as<C>(context); });
}

std::vector<Val> expand(ExpandContext& context) {
  std::vector<Val> results = expand_normalized_conv(context);
  if (!context.has_output(5) && !context.has_output(6)) return results;
  const Val y = results[0];
  const auto [mean, variance] = batch_statistics(y, saved_dtype(y.dtype()));
  results.push_back(mean);
  results.push_back(variance);
  return results;
}

}  // namespace

extern const OpDef normalized_depthwise_conv{.name = "NormalizedDepthwiseConv",
                                             .domain = ondine_domain,
                                             .infer = infer,
                                             .bind = bind,
                                             .grad = grad_of_expansion,
                                             .expand = expand,
                                             .rounded = {.reads = 0b1, .copy = 7}};

}  // namespace ondine::kernels::ops
