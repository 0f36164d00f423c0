// The rules that BatchNormalization and its derivative share with those of
// BatchNormalizationActivation, which has a sixth input and bounds.
#pragma once

#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"
#include "graph/contract/ops.h"
#include "kernels/norm/batch_norm_primitive.h"

namespace ondine::kernels::ops {

// The attributes of a fused activation: relu = 1, or low and high. None: no bounds.
struct ActivationBounds {
  float low;
  float high;
  bool above_low;  // a derivative at the lower bound is 0
};
ActivationBounds activation_bounds(const graph::NodeView& node);

// The number of channels of x, or, without `per_channel`, that of the activations of a sample.
graph::Dim channel_count(const graph::Dims& x, bool per_channel);
math::ChannelShape channel_shape(const Shape& x, bool per_channel);
// [C] to the rank of x; without `spatial_statistics` a batch dim goes before.
graph::Val per_channel(graph::Val v, graph::Val x, bool spatial_statistics);
// The axes that statistics are computed over. Error(unsupported) for an unknown rank.
std::vector<std::int64_t> batch_axes(graph::Val x, bool spatial_statistics);

// (x, scale, bias, mean, variance, addend)
void infer_batch_normalization(graph::InferContext& context);
graph::Kernel bind_batch_normalization(graph::BindContext& context);
// OpDef::make_repeatable: a copy computes y from the statistics that outputs 3 and 4 keep.
bool repeat_batch_normalization(graph::Node& copy);
// (dy, x, scale, mean, variance, bias): with the bias, dy counts within the bounds alone.
void infer_batch_normalization_grad(graph::InferContext& context);
graph::Kernel bind_batch_normalization_grad(graph::BindContext& context);

}  // namespace ondine::kernels::ops
