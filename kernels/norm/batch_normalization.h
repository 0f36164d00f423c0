// The rules that BatchNormalization shares with BatchNormalizationActivation, which has a sixth
// input and bounds.
#pragma once

#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"

namespace ondine::kernels::ops {

// The attributes of a fused activation: relu = 1, or low and high. None: no bounds.
struct ActivationBounds {
  float low;
  float high;
  bool above_low;  // a derivative at the lower bound is 0
};
ActivationBounds activation_bounds(const graph::NodeView& node);

// (x, scale, bias, mean, variance, addend)
void infer_batch_normalization(graph::InferContext& context);
graph::Kernel bind_batch_normalization(graph::BindContext& context);
// OpDef::make_repeatable: a copy computes y from the statistics that outputs 3 and 4 keep.
bool repeat_batch_normalization(graph::Node& copy);
// (dy, x, scale, mean, variance, bias): with the bias, dy counts within the bounds alone.
void infer_batch_normalization_grad(graph::InferContext& context);
graph::Kernel bind_batch_normalization_grad(graph::BindContext& context);

}  // namespace ondine::kernels::ops
