// softmax_cross_entropy_loss.cpp — loss = -w[t] log softmax(x)[t], reduced as in
// NegativeLogLikelihoodLoss; log_prob is the second output, kept for the derivative
// dx = w[t] (softmax x - onehot t) dloss (over the sum of weights for the mean). Version 13 added
// bfloat16.
// SoftmaxCrossEntropyLossGrad (ai.ondine): dx of (dloss, log_prob, labels, weights).
#include <cmath>

#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/elementwise/vector.h"
#include "kernels/loss/loss.h"
#include "kernels/norm/softmax_primitive.h"
#include "kernels/simd/isa.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  require_same_dtype(context, {0, 2});
  set_loss_output(context, infer_loss(context, 0, 1, 2));
  context.set_output(1, context.input(0));
}

Kernel bind(BindContext& context) {
  const LossShape shape(context, context.shape(0));
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    const math::SoftmaxPrimitive<C> log_softmax(
        {shape.batch, shape.classes, shape.positions, true, false});
    context.set_implementation(log_softmax.name(), log_softmax.isa());
    Scratch scratch;
    const ComputeIn<C> x(context, scratch, 0);
    const LossOutput<C> loss(context, scratch, shape);
    const ComputeOut<C> log_prob(context, scratch, 1, shape.labels() * shape.classes, true);
    scratch.request(context);
    return [=](KernelContext& call) {
      C* log_p = log_prob.data(call);
      log_softmax.run(call.pool(), {.x = x(call), .result = log_p});
      loss.write(call, log_p);
      log_prob.store(call);
    };
  });
}

std::vector<Val> grad(GradContext& g) {
  Builder& b = g.builder();
  std::vector<Val> result(3);
  const Val log_p = g.y(1);
  const Val dloss = g.dy(0);
  const Val dlog_p = g.dy(1);
  if (g.wants(0)) {
    if (!dlog_p) {
      result[0] = b.node("SoftmaxCrossEntropyLossGrad", {dloss, log_p, g.x(1), g.x(2)},
                         loss_attributes(g), ondine_domain);
    } else {
      Val total = dlog_p;
      if (dloss) {
        total = total + b.node("NegativeLogLikelihoodLossGrad",
                               {dloss, g.x(1), g.x(2), graph::shape_of(log_p)}, loss_attributes(g),
                               ondine_domain);
      }
      result[0] =
          b.node("LogSoftmaxGrad", {total, log_p}, {{"axis", std::int64_t{1}}}, ondine_domain);
    }
  }
  if (g.wants(2) && g.x(2) && dloss) {
    result[2] = weight_gradient(g, dloss, g.y(0), log_p, g.x(1), g.x(2));
  }
  return result;
}

void infer_grad(InferContext& context) {
  require_same_dtype(context, {0, 1, 3});
  infer_loss(context, 1, 2, 3);
  context.set_output(0, context.input(1));
}

// Scores of a label lie `positions` elements apart: rows of classes are walked in blocks of labels,
// whose factors are computed first.
constexpr std::int64_t max_block = 256;

// dx of `width` labels of one sample that follow each other, from `start` on.
template <class C>
void write_gradient_block(const LossShape& shape, const LabelGradients<C>& gradients,
                          const C* log_p, C* dx, std::int64_t sample, std::int64_t start,
                          std::int64_t width) {
  C factor[max_block];
  std::int64_t label[max_block];
  for (std::int64_t j = 0; j < width; ++j) {
    const std::int64_t i = sample * shape.positions + start + j;
    label[j] = gradients.labels[i];
    factor[j] = label[j] < 0 ? C{0} : gradients(i, label[j]);
  }
  const auto& v = math::vector_kernels<C>();
  const std::int64_t base = sample * shape.classes * shape.positions + start;
  if (shape.positions == 1) {
    v.exp(dx + base, log_p + base, shape.classes);
    v.scale(dx + base, dx + base, factor[0], shape.classes);
  } else {
    for (std::int64_t k = 0; k < shape.classes; ++k) {
      C* row = dx + base + k * shape.positions;
      v.exp(row, log_p + base + k * shape.positions, width);
      v.mul.vv(row, row, factor, width);
    }
  }
  for (std::int64_t j = 0; j < width; ++j) {
    if (label[j] >= 0) dx[base + j + label[j] * shape.positions] -= factor[j];
  }
}

Kernel bind_grad(BindContext& context) {
  const LossShape shape(context, context.shape(1));
  require_loss_size(shape, context.shape(0));
  context.set_implementation("blocks", math::isa_name(math::simd_tables()));
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    Scratch scratch;
    const LossGradientInputs<C> inputs(context, scratch, shape, 2);
    const ComputeIn<C> log_prob(context, scratch, 1);
    const ComputeOut<C> dx(context, scratch, 0, shape.labels() * shape.classes);
    scratch.request(context);
    return [=](KernelContext& call) {
      const LabelGradients<C> gradients = inputs.read(call);
      const C* log_p = log_prob(call);
      C* to = dx.data(call);
      const std::int64_t blocks = (shape.positions + max_block - 1) / max_block;
      const std::int64_t block_elements = shape.classes * std::min(shape.positions, max_block);
      const std::int64_t grain =
          std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, block_elements));
      const auto write_blocks = [&](std::int64_t first, std::int64_t last) {
        for (auto at = first; at < last; ++at) {
          const std::int64_t start = at % blocks * max_block;
          write_gradient_block(shape, gradients, log_p, to, at / blocks, start,
                               std::min(max_block, shape.positions - start));
        }
      };
      call.pool().for_chunks(shape.batch * blocks, grain, write_blocks);
      dx.store(call);
    };
  });
}

std::vector<Val> expand_grad(ExpandContext& context) {
  Builder& b = context.builder();
  const Val dlog_p =
      b.node("NegativeLogLikelihoodLossGrad",
             {context.x(0), context.x(2), context.x(3), graph::shape_of(context.x(1))},
             loss_attributes(context), ondine_domain);
  return {
      b.node("LogSoftmaxGrad", {dlog_p, context.x(1)}, {{"axis", std::int64_t{1}}}, ondine_domain)};
}

}  // namespace

extern const OpDef softmax_cross_entropy_loss{
    .name = "SoftmaxCrossEntropyLoss",
    .infer = infer,
    .bind = bind,
    .grad = grad,
    .traits = {.inplace = 1, .inplace_every_output = true}};  // log_prob over the scores
extern const OpDef softmax_cross_entropy_loss_grad{.name = "SoftmaxCrossEntropyLossGrad",
                                                   .domain = ondine_domain,
                                                   .infer = infer_grad,
                                                   .bind = bind_grad,
                                                   .grad = grad_of_expansion,
                                                   .expand = expand_grad,
                                                   .traits = {.inplace = 0b10}};

}  // namespace ondine::kernels::ops
