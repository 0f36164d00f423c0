// NormalizedPointwiseConvGradWeight (ai.ondine), a result of fuse_normalized_pointwise: the
// derivative by w of y = Conv(z, w), pointwise, over planes, with z =
// BatchNormalizationActivation(x, scale, bias) by the statistics of the batch.
//   (x, scale, bias, mean, variance, dy, shape of w) -> dw
// z is computed from x and not stored. Attributes: those of Conv; epsilon; those of an activation
// as in BatchNormalizationActivation.
#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/conv/operators/normalized_conv.h"
#include "kernels/conv/primitives/normalized_pointwise.h"
#include "kernels/norm/batch_normalization.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  require_same_dtype(context, {0, 5});
  const auto require_planes = [&](std::size_t i) {
    if (context.ranked(i) && context.dims(i).size() != 4) {
      context.reject("input ", i, " is ", graph::to_string(context.input(i)), ", not planes");
    }
  };
  require_planes(0);
  require_planes(5);
  Dims dw{{}, {}, 1, 1};
  if (context.ranked(0)) {
    dw[1] = context.dims(0)[1];
    for (std::size_t i = 1; i < 5; ++i) {
      if (context.ranked(i)) dw[1] = unify(dw[1], product(context.dims(i)), "numbers of channels");
    }
  }
  if (context.ranked(5)) dw[0] = context.dims(5)[1];
  if (context.ranked(0) && context.ranked(5)) {
    for (const std::size_t axis : {0U, 2U, 3U}) {
      unify(context.dims(0)[axis], context.dims(5)[axis], "dims of x and dy");
    }
  }
  context.set_output(0, context.dtype(0), dw);
}

template <class C>
Kernel bind_as(BindContext& context) {
  const Shape in = context.shape(0);
  const math::NormalizedPointwiseDesc desc{in[0], in[1], context.shape(5)[1], in[2] * in[3],
                                           normalization_desc(context)};
  const math::NormalizedPointwiseWeights<C> primitive(desc, context.threads());
  context.set_implementation("normalized_pointwise", primitive.isa());
  Scratch scratch;
  const ComputeIn<C> x(context, scratch, 0);
  const ComputeIn<C> scale(context, scratch, 1);
  const ComputeIn<C> bias(context, scratch, 2);
  const ComputeIn<C> mean(context, scratch, 3);
  const ComputeIn<C> variance(context, scratch, 4);
  const ComputeIn<C> dy(context, scratch, 5);
  const ComputeOut<C> dw(context, scratch, 0, context.output_shape(0)->size());
  const std::size_t bytes = primitive.workspace();
  const std::size_t work = scratch.add_bytes(bytes);
  scratch.request(context);
  return [=](KernelContext& call) {
    primitive.run(call.pool(),
                  {.x = x(call),
                   .scale = scale(call),
                   .bias = bias(call),
                   .mean = mean(call),
                   .variance = variance(call),
                   .dy = dy(call),
                   .dw = dw.data(call)},
                  {Scratch::at<std::byte>(call, work), bytes});
    dw.store(call);
  };
}

Kernel bind(BindContext& context) {
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel { return bind_as<C>(context); });
}

std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  graph::Attributes norm = normalization_attributes(context);
  std::erase_if(norm, [](const auto& each) { return each.name == "training_mode"; });
  const std::vector<Val> inputs{context.x(0), context.x(1), context.x(2), context.x(3),
                                context.x(4)};
  const Val z = b.nodes("BatchNormalizationActivation", inputs, norm, 1, ondine_domain)[0];
  return {b.node("ConvGradWeight", {z, context.x(5), context.x(6)}, convolution_attributes(context),
                 ondine_domain)};
}

}  // namespace

extern const OpDef normalized_pointwise_conv_grad_weight{
    .name = "NormalizedPointwiseConvGradWeight",
    .domain = ondine_domain,
    .infer = infer,
    .bind = bind,
    .grad = grad_of_expansion,
    .expand = expand};

}  // namespace ondine::kernels::ops
