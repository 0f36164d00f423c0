// The rules that BatchNormalization and its derivative share with those of
// BatchNormalizationActivation, which has a sixth input and bounds.
#pragma once

#include <utility>

#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"
#include "graph/contract/ops.h"
#include "kernels/common/compute_type.h"
#include "kernels/norm/batch_norm_primitive.h"

namespace ondine::kernels::ops {

// The bounds of a fused activation: relu = 1, or low and high. None: no bounds.
struct ActivationBounds {
  float low;
  float high;
  bool above_low;  // a derivative at the lower bound is 0
};
ActivationBounds activation_bounds(const graph::NodeView& node);
// A descriptor with epsilon and the activation of a node: its bounds, or the one that the attribute
// `activation` names, HardSwish or Swish, with alpha.
math::BatchNormDesc normalization_desc(const graph::NodeView& node);

// The number of channels of x, or, without `per_channel`, that of the activations of a sample.
graph::Dim channel_count(const graph::Dims& x, bool per_channel);
math::ChannelShape channel_shape(const Shape& x, bool per_channel);
// [C] to the rank of x; without `spatial_statistics` a batch dim goes before.
graph::Val per_channel(graph::Val v, graph::Val x, bool spatial_statistics);
// The axes that statistics are computed over. Error(unsupported) for an unknown rank.
std::vector<std::int64_t> batch_axes(graph::Val x, bool spatial_statistics);
// Mean and variance of each channel, [C] of this dtype.
std::pair<graph::Val, graph::Val> batch_statistics(graph::Val x, DType dtype);
// The dtype in which statistics are saved: float32 for 16-bit dtypes.
DType saved_dtype(DType dtype);

// running = old momentum + batch (1 - momentum), where it is an output; outside of training the
// old.
template <class C>
struct RunningStatistic {
  bool train;
  C momentum;
  std::int64_t channels;

  void write(graph::KernelContext& call, const ComputeOut<C>& out, const C* old,
             const C* batch) const {
    C* to = out.data(call);
    if (to == nullptr) return;
    for (std::int64_t i = 0; i < channels; ++i) {
      to[i] = train ? old[i] * momentum + batch[i] * (1 - momentum) : old[i];
    }
    out.store(call);
  }
};

// The number of channels of inputs 0 to 4, and outputs 1 to 4.
void infer_batch_statistics(graph::InferContext& context);
// (x, scale, bias, mean, variance, addend)
void infer_batch_normalization(graph::InferContext& context);
graph::Kernel bind_batch_normalization(graph::BindContext& context);
// OpDef::make_repeatable: a copy computes y from the statistics that outputs 3 and 4 keep.
bool repeat_batch_normalization(graph::Node& copy);
// OpTraits::is_per_sample: with given statistics.
bool normalizes_samples(const graph::Node& node, const graph::Graph& graph);
// (dy, x, scale, mean, variance, bias): with the bias, dy counts within the bounds alone.
void infer_batch_normalization_grad(graph::InferContext& context);
graph::Kernel bind_batch_normalization_grad(graph::BindContext& context);

}  // namespace ondine::kernels::ops
