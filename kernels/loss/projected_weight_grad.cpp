// projected_weight_grad.cpp — ProjectedWeightGrad (ai.ondine): the derivative of
// ProjectedCrossEntropy by w, of (dloss, h, w, labels, logarithms), with its attributes. The
// derivative by the scores, (exp(h w - logarithm) - onehot) dloss, over the number of labels that
// count for the mean, is never in memory as a whole (head_gradient.h).
#include <algorithm>

#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/loss/head_gradient.h"

namespace ondine::kernels::ops {
namespace {

constexpr HeadInputs inputs{.dloss = 0, .h = 1, .w = 2, .labels = 3, .logarithms = 4};

void infer(InferContext& context) {
  require_same_dtype(context, {inputs.dloss, inputs.h, inputs.w, inputs.logarithms});
  const Dims w = dims_of_rank(context, inputs.w, 2, "weights");
  const auto labels = infer_head(context, inputs.h, w, inputs.labels);
  if (labels && context.ranked(inputs.logarithms)) {
    const Dims& logarithms = context.dims(inputs.logarithms);
    if (logarithms.size() != labels->size()) {
      context.reject("logarithms ", to_string(logarithms), " do not fit labels ",
                     to_string(*labels));
    }
    for (std::size_t i = 0; i < labels->size(); ++i) {
      unify(logarithms[i], (*labels)[i], "logarithms and labels");
    }
  }
  if (context.ranked(inputs.dloss) && context.rank(inputs.dloss) != 0) {
    context.reject("the derivative of the loss has shape ", to_string(context.dims(inputs.dloss)),
                   ", needed: one number");
  }
  context.set_output(0, context.input(inputs.w));
}

Kernel bind(BindContext& context) {
  return visit_compute(context.dtype(inputs.h), [&]<class C>() -> Kernel {
    Scratch scratch;
    const HeadGradient<C> head(context, scratch, inputs, 0, true);
    const ComputeOut<C> dw(context, scratch, 0, context.shape(inputs.w).size());
    context.set_implementation(head.name(), head.isa());
    scratch.request(context);
    return [=](KernelContext& call) {
      C* const to = dw.data(call);
      head.run(call, [&](const HeadBlock<C>& block, std::byte*) {
        for (std::int64_t i = 0; i < block.rows; ++i) {
          std::copy_n(block.derivative + i * block.length, block.length,
                      to + block.first + i * block.step);
        }
      });
      dw.store(call);
    };
  });
}

std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  const Val h = context.x(inputs.h);
  const Val w = context.x(inputs.w);
  const std::vector<std::int64_t> perm{1, 0};
  const bool class_rows = has_class_rows(context);
  const Val rows = b.node("Flatten", {h}, {{"axis", static_cast<std::int64_t>(h.rank()) - 1}});
  const Val scores = graph::matmul(rows, class_rows ? graph::transpose(w, perm) : w);
  const Val logarithms = graph::reshape(context.x(inputs.logarithms), {-1, 1});
  const LabelVals labels =
      label_vals(context, b.node("Reshape", {context.x(inputs.labels), b.int64s({-1})}));
  const Val values = graph::concat(std::vector{graph::reshape(graph::scalar_like(h, 0), {1}),
                                               graph::reshape(graph::scalar_like(h, 1), {1})},
                                   0);
  const Val onehot =
      b.node("OneHot", {labels.classes, graph::dim_of(w, class_rows ? 0 : 1), values});
  const Val counts = label_weights(labels, {}, h);
  Val scale = context.x(inputs.dloss);
  if (loss_reduction(context) == LossReduction::mean) {
    scale = scale / graph::reduce_sum(counts, {}, false);
  }
  const Val dscores =
      (graph::unary("Exp", scores - logarithms) - onehot) * graph::unsqueeze(counts * scale, {1});
  return {class_rows ? graph::matmul(graph::transpose(dscores, perm), rows)
                     : graph::matmul(graph::transpose(rows, perm), dscores)};
}

}  // namespace

extern const OpDef projected_weight_grad{.name = "ProjectedWeightGrad",
                                         .domain = ondine_domain,
                                         .infer = infer,
                                         .bind = bind,
                                         .grad = grad_of_expansion,
                                         .expand = expand,
                                         .no_gradient = 0b1000};

}  // namespace ondine::kernels::ops
