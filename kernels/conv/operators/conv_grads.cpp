// ConvGrads (ai.ondine): gradients of y = Conv(z, w) that share what they read, results of
// fuse_depthwise_gradient, fuse_normalized_conv and fuse_pointwise_gradient.
//   (dy, x, w, scale, mean, variance, bias) -> dw, dx, dscale, dbias
// With the four inputs of a normalization z = BatchNormalizationActivation(x, scale, bias, mean,
// variance) by the statistics of the batch, which is computed again, and neither z nor its
// derivative is stored: any dw alone, or all results of a depthwise convolution. Without them z is
// x: dw and dx of a pointwise convolution. Attributes: those of Conv; epsilon; those of an
// activation as in BatchNormalizationActivation.
#include <limits>

#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/common/stored_input.h"
#include "kernels/conv/operators/conv_shape.h"
#include "kernels/conv/operators/normalized_conv.h"
#include "kernels/conv/primitives/conv_grads.h"
#include "kernels/norm/batch_normalization.h"

namespace ondine::kernels::ops {
namespace {

enum Operand : std::size_t { dy_in, x_in, w_in, scale_in, mean_in, variance_in, bias_in };
enum Result : std::size_t { dw_out, dx_out, dscale_out, dbias_out };

bool is_normalized(const NodeView& node) { return node.has_input(scale_in); }
// Whether more than dw is wanted.
bool wants_all(const NodeView& node) {
  return node.has_output(dx_out) || node.has_output(dscale_out) || node.has_output(dbias_out);
}

void infer(InferContext& context) {
  require_same_dtype(context, {dy_in, x_in, w_in});
  const auto x = dims_if_ranked(context, x_in);
  require_derivative(context, conv_dims(context, x, dims_if_ranked(context, w_in)));
  Dim channels;
  if (x) channels = channel_count(*x, true);
  for (std::size_t i = scale_in; i <= bias_in; ++i) {
    if (context.has_input(i) != is_normalized(context)) {
      context.reject("scale, mean, variance and bias are given together");
    }
    if (!context.has_input(i) || !context.ranked(i)) continue;
    channels = unify(channels, product(context.dims(i)), "numbers of channels");
  }
  context.set_output(dw_out, context.input(w_in));
  context.set_output(dx_out, context.input(x_in));
  if (!is_normalized(context)) return;
  context.set_output(dscale_out, context.input(scale_in));
  context.set_output(dbias_out, context.input(scale_in));
}

template <class C>
math::ConvGradsDesc desc_of(const BindContext& context) {
  math::ConvGradsDesc desc{
      .shape = conv_shape(context, context.shape(x_in), context.shape(w_in), context.shape(dy_in)),
      .normalized = is_normalized(context),
      .all = wants_all(context),
      .norm = normalization_desc(context),
      .threads = context.threads()};
  const bool above_low = activation_bounds(context).above_low;
  desc.low = above_low ? double{std::numeric_limits<C>::denorm_min()} : desc.norm.low;
  return desc;
}

// Where x is read as bfloat16.
bool reads_stored(const NodeView& node) { return is_normalized(node) && wants_all(node); }
graph::RoundedInputs rounded_inputs(const BindContext& context) {
  return {.read = reads_stored(context) ? 1U << x_in : 0U};
}

template <class C>
Kernel bind_as(BindContext& context) {
  math::ConvGradsDesc desc = desc_of<C>(context);
  Scratch scratch;
  const ComputeIn<C> dy(context, scratch, dy_in);
  const StoredIn<C> x(context, scratch, x_in, reads_stored(context));
  const ComputeIn<C> w(context, scratch, w_in);
  const ComputeIn<C> scale(context, scratch, scale_in);
  const ComputeIn<C> mean(context, scratch, mean_in);
  const ComputeIn<C> variance(context, scratch, variance_in);
  const ComputeIn<C> bias(context, scratch, bias_in);
  const ComputeOut<C> dw(context, scratch, dw_out, context.shape(w_in).size(), true);
  const ComputeOut<C> dx(context, scratch, dx_out, context.shape(x_in).size(), desc.all);
  const ComputeOut<C> dscale(context, scratch, dscale_out, desc.shape.in_channels);
  const ComputeOut<C> dbias(context, scratch, dbias_out, desc.shape.in_channels);
  desc.norm.x_stored = x.storage();
  const math::ConvGrads<C> primitive(desc);
  context.set_implementation(primitive.worker(), primitive.isa());
  const std::size_t bytes = primitive.workspace();
  const std::size_t work = scratch.add_bytes(bytes);
  scratch.request(context);
  return [=](KernelContext& call) {
    primitive.run(call.pool(), {.dy = dy(call),
                                .x = x(call),
                                .w = w(call),
                                .scale = scale(call),
                                .bias = bias(call),
                                .mean = mean(call),
                                .variance = variance(call),
                                .dw = dw.data(call),
                                .dx = dx.data(call),
                                .dscale = dscale.data(call),
                                .dbias = dbias.data(call),
                                .workspace = {Scratch::at<std::byte>(call, work), bytes}});
    for (const auto* const result : {&dw, &dx, &dscale, &dbias}) result->store(call);
  };
}

Kernel bind(BindContext& context) {
  return visit_compute(context.dtype(dy_in),
                       [&]<class C>() -> Kernel { return bind_as<C>(context); });
}

std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  const Val dy = context.x(dy_in), x = context.x(x_in), w = context.x(w_in);
  const Val scale = context.x(scale_in), bias = context.x(bias_in);
  const Val mean = context.x(mean_in), variance = context.x(variance_in);
  const Attributes conv = convolution_attributes(context);
  Attributes norm = normalization_attributes(context);
  std::erase_if(norm, [](const auto& each) { return each.name == "training_mode"; });
  const bool normalized = is_normalized(context);
  const Val z = normalized ? b.node("BatchNormalizationActivation",
                                    {x, scale, bias, mean, variance}, norm, ondine_domain)
                           : x;
  const Val dw = b.node("ConvGradWeight", {z, dy, graph::shape_of(w)}, conv, ondine_domain);
  if (!wants_all(context)) return {dw};
  const Val dz = b.node("ConvGradInput", {dy, w, graph::shape_of(x)}, conv, ondine_domain);
  if (!normalized) return {dw, dz};
  const std::vector<Val> operands{dz, x, scale, mean, variance, bias};
  std::vector<Val> results =
      b.nodes("BatchNormalizationActivationGrad", operands, norm, 3, ondine_domain);
  results.insert(results.begin(), dw);
  return results;
}

}  // namespace

extern const OpDef conv_grads{.name = "ConvGrads",
                              .domain = ondine_domain,
                              .infer = infer,
                              .bind = bind,
                              .grad = grad_of_expansion,
                              .expand = expand,
                              .traits = {.cannot_fail = true},
                              .rounded = {.inputs = rounded_inputs}};

}  // namespace ondine::kernels::ops
