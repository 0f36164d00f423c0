// batch_normalization_activation.cpp — ai.ondine, the results of fusion passes:
//   BatchNormalizationActivation      y = activation of (BatchNormalization of x, plus addend),
//                                     with the other outputs of BatchNormalization
//   BatchNormalizationActivationGrad  BatchNormalizationGrad through the activation, without
//                                     addend: (dy, x, scale, mean, variance, bias). Which side of
//                                     its bounds an element was on is recomputed from x.
// Attributes: relu = 1, or low and high of Clip, or activation = HardSwish or Swish with alpha;
// those of BatchNormalization-15, of the derivative
// constant_statistics = 1 without training_mode.
#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/norm/batch_normalization.h"

namespace ondine::kernels::ops {
namespace {

Attributes normalization_attributes(const NodeView& node, bool train) {
  return {{"epsilon", node.attr_float("epsilon", 1e-5F)},
          {"momentum", node.attr_float("momentum", 0.9F)},
          {"training_mode", std::int64_t{train}}};
}

Attributes smooth_attributes(const NodeView& node) {
  if (!node.has_attr("alpha")) return {};
  return {{"alpha", node.attr_float("alpha", 1.0F)}};
}

Val activation_of(const NodeView& node, Val v) {
  if (node.attr_int("relu", 0) != 0) return unary("Relu", v);
  const std::string smooth = node.attr_string("activation", "");
  if (!smooth.empty()) return v.builder().node(smooth, {v}, smooth_attributes(node));
  const auto bound = [&](std::string_view name) {
    return node.has_attr(name) ? scalar_like(v, double{node.attr_float(name, 0)}) : Val();
  };
  return v.builder().node("Clip", {v, bound("low"), bound("high")});
}

std::vector<Val> expand(ExpandContext& context) {
  const std::vector<Val> inputs{context.x(0), context.x(1), context.x(2), context.x(3),
                                context.x(4)};
  const bool train = context.attr_int("training_mode", 0) != 0;
  std::vector<Val> results = context.builder().nodes("BatchNormalization", inputs,
                                                     normalization_attributes(context, train), 5);
  if (context.x(5)) results[0] = results[0] + context.x(5);
  results[0] = activation_of(context, results[0]);
  return results;
}

std::vector<Val> expand_grad(ExpandContext& context) {
  Builder& b = context.builder();
  const std::vector<Val> inputs{context.x(1), context.x(2), context.x(5), context.x(3),
                                context.x(4)};
  const Val v =
      b.nodes("BatchNormalization", inputs, normalization_attributes(context, false), 1)[0];
  const Val zero = scalar_like(v, 0);
  Val dy = context.x(0);
  const std::string smooth = context.attr_string("activation", "");
  if (!smooth.empty()) {
    dy = b.node(smooth + "Grad", {dy, v}, smooth_attributes(context), ondine_domain);
  } else if (context.attr_int("relu", 0) != 0) {
    dy = where(greater(v, zero), dy, zero);
  } else {
    const ActivationBounds bounds = activation_bounds(context);
    dy = where(less(v, scalar_like(v, double{bounds.low})), zero, dy);
    dy = where(greater(v, scalar_like(v, double{bounds.high})), zero, dy);
  }
  const std::vector<Val> rest{dy, context.x(1), context.x(2), context.x(3), context.x(4)};
  return b.nodes("BatchNormalizationGrad", rest,
                 {{"epsilon", context.attr_float("epsilon", 1e-5F)},
                  {"constant_statistics", context.attr_int("constant_statistics", 0)}},
                 3, ondine_domain);
}

}  // namespace

extern const OpDef batch_normalization_activation{.name = "BatchNormalizationActivation",
                                                  .domain = ondine_domain,
                                                  .infer = infer_batch_normalization,
                                                  .bind = bind_batch_normalization,
                                                  .grad = grad_of_expansion,
                                                  .expand = expand,
                                                  .traits = {.inplace = 0b100001,
                                                             .per_sample = 0b100001,
                                                             .is_per_sample = normalizes_samples,
                                                             .cheap = true,
                                                             .cannot_fail = true},
                                                  .make_repeatable = repeat_batch_normalization,
                                                  .rounded = {.reads = 0b1, .copy = 5}};
extern const OpDef batch_normalization_activation_grad{
    .name = "BatchNormalizationActivationGrad",
    .domain = ondine_domain,
    .infer = infer_batch_normalization_grad,
    .bind = bind_batch_normalization_grad,
    .grad = grad_of_expansion,
    .expand = expand_grad,
    .traits = {.inplace = 0b11, .cannot_fail = true},
    .rounded = {.reads = 0b10}};

}  // namespace ondine::kernels::ops
