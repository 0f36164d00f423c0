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

#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/common/stored_input.h"
#include "kernels/conv/operators/conv_shape.h"
#include "kernels/conv/primitives/normalized_conv.h"
#include "kernels/norm/batch_normalization.h"

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

template <class C>
math::NormalizedConvDesc desc_of(const BindContext& context) {
  math::NormalizedConvDesc desc{
      .shape = conv_shape(context, context.shape(0), context.shape(w_in), *context.output_shape(0)),
      .norm = normalization_desc(context),
      .given = context.has_input(x_mean_in),
      .threads = context.threads()};
  desc.norm.x_stored = storage_of<C>(context, 0);
  return desc;
}

bool finds_statistics(const NodeView& node) {
  return node.has_output(y_mean_out) || node.has_output(y_variance_out);
}

[[noreturn]] void refuse_more() {
  fail(ErrorCode::internal, "only depthwise convolutions find the statistics of y or copy x");
}

template <class C>
Kernel bind_as(BindContext& context) {
  const math::NormalizedConv<C> primitive(desc_of<C>(context));
  context.set_implementation(primitive.worker(), primitive.isa());
  const bool depthwise = primitive.name() == "depthwise";
  const bool finds = finds_statistics(context), copies = context.has_output(copy_out);
  if (!depthwise && (finds || copies)) refuse_more();
  const std::int64_t channels = context.shape(0)[1], out_channels = context.shape(w_in)[0];
  const auto momentum = static_cast<C>(context.attr_float("momentum", 0.9F));
  const RunningStatistic<C> running{true, momentum, channels};
  Scratch scratch;
  const StoredIn<C> x(context, scratch, 0, depthwise);
  const ComputeIn<C> scale(context, scratch, 1);
  const ComputeIn<C> bias(context, scratch, 2);
  const ComputeIn<C> old_mean(context, scratch, 3);
  const ComputeIn<C> old_variance(context, scratch, 4);
  const ComputeIn<C> w(context, scratch, w_in);
  const ComputeIn<C> x_mean(context, scratch, x_mean_in);
  const ComputeIn<C> x_variance(context, scratch, x_variance_in);
  const ComputeOut<C> y(context, scratch, 0, context.output_shape(0)->size(), true);
  const ComputeOut<C> new_mean(context, scratch, 1, channels);
  const ComputeOut<C> new_variance(context, scratch, 2, channels);
  const ComputeOut<C> mean(context, scratch, 3, channels, true);
  const ComputeOut<C> variance(context, scratch, 4, channels, true);
  const ComputeOut<C> y_mean(context, scratch, y_mean_out, out_channels, finds);
  const ComputeOut<C> y_variance(context, scratch, y_variance_out, out_channels, finds);
  const std::size_t bytes = primitive.workspace();
  const std::size_t work = scratch.add_bytes(bytes);
  scratch.request(context);
  return [=](KernelContext& call) {
    const math::NormalizedConvArgs<C> args{
        .x = x(call),
        .scale = scale(call),
        .bias = bias(call),
        .w = w(call),
        .mean = x_mean(call),
        .variance = x_variance(call),
        .y = y.data(call),
        .bf16_x = copies ? call.out<std::uint16_t>(copy_out) : nullptr,
        .batch_mean = mean.data(call),
        .batch_variance = variance.data(call),
        .y_mean = y_mean.data(call),
        .y_variance = y_variance.data(call),
        .workspace = {Scratch::at<std::byte>(call, work), bytes}};
    primitive.run(call.pool(), args);
    running.write(call, new_mean, old_mean(call), args.batch_mean);
    running.write(call, new_variance, old_variance(call), args.batch_variance);
    for (const auto* of : {&y, &mean, &variance, &y_mean, &y_variance}) of->store(call);
  };
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
  if (!finds_statistics(context)) return results;
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
