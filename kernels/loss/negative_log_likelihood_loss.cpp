// negative_log_likelihood_loss.cpp — loss = -w[t] x[t] for each target t; its sum; or its mean, the
// sum over the sum of the w[t]. Ignored targets have weight 0. dx[t] = -w[t] dloss (over the sum of
// weights for the mean), 0 elsewhere. Version 13 changed the wording only, 22 added bfloat16.
// NegativeLogLikelihoodLossGrad (ai.ondine): dx of (dloss, target, weight, shape of x).
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/op.h"
#include "kernels/loss/loss.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  require_same_dtype(context, {0, 2});
  set_loss_output(context, infer_loss(context, 0, 1, 2));
}

Kernel bind(BindContext& context) {
  const LossShape shape(context, context.shape(0));
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    Scratch scratch;
    const ComputeIn<C> x(context, scratch, 0);
    const LossOutput<C> loss(context, scratch, shape);
    scratch.request(context);
    return [=](KernelContext& call) { loss.write(call, x(call)); };
  });
}

std::vector<Val> grad(GradContext& g) {
  std::vector<Val> result(3);
  if (g.wants(0)) {
    result[0] = g.builder().node("NegativeLogLikelihoodLossGrad",
                                 {g.dy(0), g.x(1), g.x(2), graph::shape_of(g.x(0))},
                                 loss_attributes(g), ondine_domain);
  }
  if (g.wants(2) && g.x(2)) {
    result[2] = weight_gradient(g, g.dy(0), g.y(0), g.x(0), g.x(1), g.x(2));
  }
  return result;
}

void infer_grad(InferContext& context) {
  require_same_dtype(context, {0, 2});
  loss_reduction(context);
  const auto dims = dims_from_input(context, 3);
  if (dims && dims->size() < 2) context.reject("scores need rank 2 or more");
  context.set_output(0, context.dtype(0), dims);
}

Kernel bind_grad(BindContext& context) {
  const LossShape shape(context, *context.output_shape(0));
  if (context.shape(1).size() != shape.labels()) {
    fail(ErrorCode::mismatch, "expected ", shape.labels(), " labels, found ",
         context.shape(1).size());
  }
  require_loss_size(shape, context.shape(0));
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    Scratch scratch;
    const LossGradientInputs<C> inputs(context, scratch, shape, 1);
    const ComputeOut<C> dx(context, scratch, 0, shape.labels() * shape.classes);
    scratch.request(context);
    return [=](KernelContext& call) {
      const LabelGradients<C> gradients = inputs.read(call);
      C* to = dx.data(call);
      const auto write_rows = [&](std::int64_t first, std::int64_t last) {
        for (auto i = first; i < last; ++i) {
          C* row = to + shape.row(i);
          for (std::int64_t k = 0; k < shape.classes; ++k) row[k * shape.positions] = 0;
          const auto label = gradients.labels[i];
          if (label >= 0) row[label * shape.positions] = -gradients(i, label);
        }
      };
      call.pool().for_chunks(shape.labels(), loss_grain, write_rows);
      dx.store(call);
    };
  });
}

std::vector<Val> expand_grad(ExpandContext& context) {
  const Val dloss = context.x(0);
  const LabelVals labels = label_vals(context, context.x(1));
  const Val weights = label_weights(labels, context.x(2), dloss);
  Val each = -weights * dloss;
  if (loss_reduction(context) == LossReduction::mean) {
    each = each / graph::reduce_sum(weights, {}, false);
  }
  const Val zeros = graph::expand(graph::scalar_like(dloss, 0), context.x(3));
  return {context.builder().node(
      "ScatterElements",
      {zeros, graph::unsqueeze(labels.classes, {1}), graph::unsqueeze(each, {1})},
      {{"axis", std::int64_t{1}}})};
}

}  // namespace

extern const OpDef negative_log_likelihood_loss{
    .name = "NegativeLogLikelihoodLoss", .infer = infer, .bind = bind, .grad = grad};
extern const OpDef negative_log_likelihood_loss_grad{.name = "NegativeLogLikelihoodLossGrad",
                                                     .domain = ondine_domain,
                                                     .infer = infer_grad,
                                                     .bind = bind_grad,
                                                     .grad = grad_of_expansion,
                                                     .expand = expand_grad};

}  // namespace ondine::kernels::ops
