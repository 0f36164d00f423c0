// batch_normalization_grad.cpp — BatchNormalizationGrad (ai.ondine): (dy, x, scale, mean, var) ->
// dx, dscale, dbias. With constant_statistics mean and var are no functions of x.
#include <limits>

#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/common/stored_input.h"
#include "kernels/norm/batch_norm_primitive.h"
#include "kernels/norm/batch_normalization.h"

namespace ondine::kernels::ops {

void infer_batch_normalization_grad(InferContext& context) {
  const bool spatial_statistics = context.attr_int("spatial", 1) != 0;
  Dim count;
  if (context.ranked(1)) count = channel_count(context.dims(1), spatial_statistics);
  for (std::size_t i = 2; i < 5; ++i) {
    if (context.ranked(i)) count = unify(count, product(context.dims(i)), "numbers of channels");
  }
  if (!compatible(context.input(0), context.input(1))) {
    context.reject("dy is ", graph::to_string(context.input(0)), ", x is ",
                   graph::to_string(context.input(1)));
  }
  context.set_output(0, context.input(1));
  context.set_output(1, context.input(2));
  context.set_output(2, context.input(2));
}

Kernel bind_batch_normalization_grad(BindContext& context) {
  const bool constant = context.attr_int("constant_statistics", 0) != 0;
  const math::ChannelShape shape =
      channel_shape(context.shape(1), context.attr_int("spatial", 1) != 0);
  math::BatchNormDesc desc = normalization_desc(context);
  desc.shape = shape;
  desc.pass =
      constant ? math::BatchNormPass::backward_constant_statistics : math::BatchNormPass::backward;
  desc.masked = context.has_input(5);
  const bool above_low = activation_bounds(context).above_low;
  return visit_compute(context.dtype(1), [&]<class C>() -> Kernel {
    if (above_low) desc.low = double{std::numeric_limits<C>::denorm_min()};
    desc.x_stored = storage_of<C>(context, 1);
    const math::BatchNormPrimitive<C> batch_norm(desc);
    context.set_implementation(batch_norm.name(), batch_norm.isa());
    Scratch scratch;
    const ComputeIn<C> dy(context, scratch, 0);
    const StoredIn<C> x(context, scratch, 1);
    const ComputeIn<C> scale(context, scratch, 2);
    const ComputeIn<C> mean(context, scratch, 3);
    const ComputeIn<C> variance(context, scratch, 4);
    const ComputeIn<C> bias(context, scratch, 5);
    const ComputeOut<C> dx(context, scratch, 0, context.shape(1).size());
    const ComputeOut<C> dscale(context, scratch, 1, shape.channels);
    const ComputeOut<C> dbias(context, scratch, 2, shape.channels);
    scratch.request(context);
    return [=](KernelContext& call) {
      batch_norm.run(call.pool(), {.x = x(call),
                                   .scale = scale(call),
                                   .bias = bias(call),
                                   .mean = mean(call),
                                   .variance = variance(call),
                                   .dy = dy(call),
                                   .dx = dx.data(call),
                                   .dscale = dscale.data(call),
                                   .dbias = dbias.data(call)});
      dx.store(call);
      dscale.store(call);
      dbias.store(call);
    };
  });
}

namespace {

// Mean over the batch of each channel, keeping the axes.
Val batch_mean(Val v, bool spatial_statistics) {
  return graph::reduce_mean(v, batch_axes(v, spatial_statistics), true);
}

std::vector<Val> expand_grad(ExpandContext& context) {
  const bool constant = context.attr_int("constant_statistics", 0) != 0;
  const bool spatial_statistics = context.attr_int("spatial", 1) != 0;
  const Val dy = context.x(0);
  const Val x = context.x(1);
  const auto along = [&](std::size_t i) {
    return per_channel(graph::cast(context.x(i), x.dtype()), x, spatial_statistics);
  };
  const double epsilon = context.attr_float("epsilon", 1e-5F);
  const Val inverse = 1.0 / unary("Sqrt", along(4) + epsilon);
  const Val xhat = (x - along(3)) * inverse;
  const auto total = [&](Val v) {
    const Val sum = graph::reduce_sum(v, batch_axes(x, spatial_statistics), false);
    const Val like = context.x(2);
    return graph::cast(x.rank() == 1 ? graph::reshape_like(sum, like) : sum, like.dtype());
  };
  Val inner = dy;
  if (!constant)
    inner =
        dy - batch_mean(dy, spatial_statistics) - xhat * batch_mean(dy * xhat, spatial_statistics);
  return {along(2) * inverse * inner, total(dy * xhat), total(dy)};
}

}  // namespace

extern const OpDef batch_normalization_grad{.name = "BatchNormalizationGrad",
                                            .domain = ondine_domain,
                                            .infer = infer_batch_normalization_grad,
                                            .bind = bind_batch_normalization_grad,
                                            .grad = grad_of_expansion,
                                            .expand = expand_grad,
                                            .traits = {.inplace = 0b11, .cannot_fail = true},
                                            .rounded = {.reads = 0b10}};

}  // namespace ondine::kernels::ops
