// NormalizedConv (ai.ondine), a result of fuse_normalized_conv: y = Conv(z, w) with
// z = BatchNormalizationActivation(x, scale, bias, mean, variance) by the statistics of the batch,
// which is not stored.
//   (x, scale, bias, mean, variance, w, x_mean, x_variance) -> y, the other outputs of
//   BatchNormalization, and mean and variance of each channel of y, for the operator that
//   normalizes y
// x_mean and x_variance are the statistics of x, given if the operator that made x found them.
// Attributes: those of Conv and of BatchNormalizationActivation. A depthwise convolution reads each
// plane once for all, a pointwise one of large planes has a product that reads them, any other is
// convolved some images at a time.
#include "kernels/conv/operators/normalized_conv.h"

#include <algorithm>
#include <initializer_list>

#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/conv/algorithms/algorithm.h"
#include "kernels/conv/operators/conv_shape.h"
#include "kernels/conv/operators/normalized_conv_operands.h"
#include "kernels/conv/primitives/normalized_depthwise_forward.h"
#include "kernels/conv/primitives/normalized_images.h"
#include "kernels/conv/primitives/normalized_pointwise.h"

namespace ondine::kernels::ops {
namespace {

enum Operand : std::size_t { w_in = 5, x_mean_in, x_variance_in };
enum Result : std::size_t { y_mean_out = 5, y_variance_out, copy_out };

graph::Attributes only(const graph::NodeView& node, std::initializer_list<std::string_view> names) {
  graph::Attributes chosen;
  for (const auto& each : node.node().attributes) {
    if (std::find(names.begin(), names.end(), each.name) != names.end()) chosen.push_back(each);
  }
  return chosen;
}

void infer(InferContext& context) {
  require_same_dtype(context, {0, w_in});
  infer_batch_statistics(context);
  context.set_output(0, context.dtype(0),
                     conv_dims(context, dims_if_ranked(context, 0), dims_if_ranked(context, w_in)));
  for (const std::size_t i : {std::size_t{y_mean_out}, std::size_t{y_variance_out}}) {
    if (!context.has_output(i)) continue;
    Dims channels(1);
    if (context.ranked(w_in)) channels[0] = context.dims(w_in)[0];
    context.set_output(i, saved_dtype(context.dtype(0)), channels);
  }
  if (context.has_input(x_mean_in) != context.has_input(x_variance_in)) {
    context.reject("the mean and the variance of x are given together");
  }
  if (!context.has_input(x_mean_in) || !context.ranked(0)) return;
  for (const std::size_t i : {std::size_t{x_mean_in}, std::size_t{x_variance_in}}) {
    if (!context.ranked(i)) continue;
    unify(channel_count(context.dims(0), true), product(context.dims(i)), "numbers of channels");
  }
}

bool wants_statistics(const BindContext& context) {
  return context.has_output(y_mean_out) || context.has_output(y_variance_out);
}

template <class C>
Kernel bind_depthwise(BindContext& context, const math::ConvShape& shape) {
  math::NormalizedDepthwiseConvDesc desc{shape, normalization_desc(context)};
  desc.norm.x_stored = storage_of<C>(context, 0);
  const math::NormalizedDepthwiseConv<C> primitive(desc, context.threads());
  context.set_implementation(primitive.name(), primitive.isa());
  Scratch scratch;
  const NormalizedConvOperands<C> operands(context, scratch, true);
  const ComputeOut<C> y_mean(context, scratch, y_mean_out, shape.out_channels,
                             wants_statistics(context));
  const ComputeOut<C> y_variance(context, scratch, y_variance_out, shape.out_channels,
                                 wants_statistics(context));
  const std::size_t bytes = primitive.workspace();
  const std::size_t work = scratch.add_bytes(bytes);
  scratch.request(context);
  const bool copies = context.has_output(copy_out);
  return [=](KernelContext& call) {
    math::NormalizedDepthwiseConvArgs<C> args;
    if (copies) args.bf16_x = call.out<std::uint16_t>(copy_out);
    args.y_mean = y_mean.data(call);
    args.y_variance = y_variance.data(call);
    operands.run(call, args, [&](const auto& all) {
      primitive.run(call.pool(), all, {Scratch::at<std::byte>(call, work), bytes});
    });
    y_mean.store(call);
    y_variance.store(call);
  };
}

// A primitive of NormalizedConvArgs.
template <class C, class Primitive>
Kernel bind_primitive(BindContext& context, const Primitive& primitive) {
  Scratch scratch;
  const NormalizedConvOperands<C> operands(context, scratch, false);
  const ComputeIn<C> x_mean(context, scratch, x_mean_in);
  const ComputeIn<C> x_variance(context, scratch, x_variance_in);
  const std::size_t bytes = primitive.workspace();
  const std::size_t work = scratch.add_bytes(bytes);
  scratch.request(context);
  return [=](KernelContext& call) {
    math::NormalizedConvArgs<C> args;
    args.mean = x_mean(call);
    args.variance = x_variance(call);
    operands.run(call, args, [&](const auto& all) {
      primitive.run(call.pool(), all, {Scratch::at<std::byte>(call, work), bytes});
    });
  };
}

template <class C>
Kernel bind_as(BindContext& context) {
  const math::ConvShape shape =
      conv_shape(context, context.shape(0), context.shape(w_in), *context.output_shape(0));
  if (!context.has_input(x_mean_in) && math::NormalizedDepthwiseConv<C>::supports(shape)) {
    return bind_depthwise<C>(context, shape);
  }
  if (wants_statistics(context) || context.has_output(copy_out)) {
    fail(ErrorCode::internal, "only depthwise convolutions find the statistics of y or copy x");
  }
  const math::BatchNormDesc norm = normalization_desc(context);
  if (const auto desc = math::normalized_pointwise(shape, norm)) {
    const math::NormalizedPointwiseConv<C> primitive(*desc, context.threads());
    context.set_implementation("normalized_pointwise", primitive.isa());
    return bind_primitive<C>(context, primitive);
  }
  const math::NormalizedImages<C> primitive({shape, norm}, math::ConvDirection::forward,
                                            context.threads());
  context.set_implementation(primitive.name(), primitive.isa());
  return bind_primitive<C>(context, primitive);
}

Kernel bind(BindContext& context) {
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel { return bind_as<C>(context); });
}

std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  std::vector<Val> inputs;
  for (std::size_t i = 0; i < 5; ++i) inputs.push_back(context.x(i));
  std::vector<Val> results = b.nodes("BatchNormalizationActivation", inputs,
                                     normalization_attributes(context), 5, ondine_domain);
  results[0] = b.node("Conv", {results[0], context.x(w_in)}, convolution_attributes(context));
  if (!context.has_output(y_mean_out) && !context.has_output(y_variance_out)) return results;
  const Val y = results[0];
  const auto [mean, variance] = batch_statistics(y, saved_dtype(y.dtype()));
  results.push_back(mean);
  results.push_back(variance);
  return results;
}

}  // namespace

graph::Attributes convolution_attributes(const graph::NodeView& node) {
  return only(node, {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
}

graph::Attributes normalization_attributes(const graph::NodeView& node) {
  return only(
      node, {"epsilon", "momentum", "training_mode", "relu", "low", "high", "activation", "alpha"});
}

extern const OpDef normalized_conv{.name = "NormalizedConv",
                                   .domain = ondine_domain,
                                   .infer = infer,
                                   .bind = bind,
                                   .grad = grad_of_expansion,
                                   .expand = expand,
                                   .rounded = {.reads = 0b1, .copy = copy_out}};

}  // namespace ondine::kernels::ops
