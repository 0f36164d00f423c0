// PointwiseConvGrad (ai.ondine), a result of fuse_pointwise_gradient: both derivatives of
// y = Conv(x, w), pointwise, over planes, which read dy once.
//   (dy, w, x) -> dx, dw
#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/conv/operators/conv_shape.h"
#include "kernels/conv/primitives/pointwise_grad.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  require_same_dtype(context, {0, 1, 2});
  for (const std::size_t i : {0U, 1U, 2U}) {
    if (context.ranked(i) && context.dims(i).size() != 4) {
      context.reject("input ", i, " is ", graph::to_string(context.input(i)), ", not planes");
    }
  }
  const auto w = dims_if_ranked(context, 1);
  for (const std::size_t axis : {2U, 3U}) {
    if (w) unify((*w)[axis], Dim(1), "sizes of a pointwise window");
  }
  require_derivative(context, conv_dims(context, dims_if_ranked(context, 2), w));
  context.set_output(0, context.input(2));
  context.set_output(1, context.input(1));
}

template <class C>
Kernel bind_as(BindContext& context) {
  const Shape in = context.shape(2);
  const math::PointwiseGradDesc desc{in[0], in[1], context.shape(0)[1], in[2] * in[3]};
  const math::PointwiseGrad<C> primitive(desc, context.threads());
  context.set_implementation("pointwise", primitive.isa());
  Scratch scratch;
  const ComputeIn<C> dy(context, scratch, 0);
  const ComputeIn<C> w(context, scratch, 1);
  const ComputeIn<C> x(context, scratch, 2);
  const ComputeOut<C> dx(context, scratch, 0, in.size(), true);
  const ComputeOut<C> dw(context, scratch, 1, context.shape(1).size(), true);
  const std::size_t bytes = primitive.workspace();
  const std::size_t work = scratch.add_bytes(bytes);
  scratch.request(context);
  return [=](KernelContext& call) {
    primitive.run(
        call.pool(),
        {.dy = dy(call), .w = w(call), .x = x(call), .dx = dx.data(call), .dw = dw.data(call)},
        {Scratch::at<std::byte>(call, work), bytes});
    dx.store(call);
    dw.store(call);
  };
}

Kernel bind(BindContext& context) {
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel { return bind_as<C>(context); });
}

std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  const Val dy = context.x(0), w = context.x(1), x = context.x(2);
  return {b.node("ConvGradInput", {dy, w, graph::shape_of(x)}, {}, ondine_domain),
          b.node("ConvGradWeight", {x, dy, graph::shape_of(w)}, {}, ondine_domain)};
}

}  // namespace

extern const OpDef pointwise_conv_grad{.name = "PointwiseConvGrad",
                                       .domain = ondine_domain,
                                       .infer = infer,
                                       .bind = bind,
                                       .grad = grad_of_expansion,
                                       .expand = expand,
                                       .traits = {.cannot_fail = true}};

}  // namespace ondine::kernels::ops
