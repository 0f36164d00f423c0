// Shared by PointwiseDepthwiseConv and InvertedBottleneckConv, whose first inputs are
//   (x, pointwise weights, B, depthwise weights, B); biases are optional
// z is the result of the pointwise convolution, to which `inner_activation` is applied: Relu,
// Relu6, HardSwish or Swish, the latter by `inner_alpha`.
#pragma once

#include "graph/contract/builder.h"
#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"
#include "kernels/common/stored_input.h"
#include "kernels/conv/sources/expanded_bands.h"

namespace ondine::kernels::ops {

enum PointwiseDepthwiseInput : std::size_t {
  x_in,
  pointwise_in,
  inner_bias_in,
  depthwise_in,
  bias_in
};

// The dims of the depthwise results, where those of the inputs are known.
std::optional<graph::Dims> pointwise_depthwise_dims(graph::InferContext& context);

// `y`: the shape of the depthwise results. How operands are stored is not set. Without pointwise
// weights in_channels is 0.
math::PointwiseDepthwiseDesc pointwise_depthwise_desc(const graph::BindContext& context,
                                                      const Shape& y);

// The inputs as the primitives take them: x and the pointwise weights as they are stored, where the
// primitive reads bfloat16.
template <class C>
class PointwiseDepthwiseInputs {
 public:
  PointwiseDepthwiseInputs(const graph::BindContext& context, Scratch& scratch, bool reads_x,
                           bool reads_weights)
      : x_(context, scratch, x_in, reads_x),
        pointwise_(context, scratch, pointwise_in, reads_weights),
        inner_bias_(context, scratch, inner_bias_in),
        depthwise_(context, scratch, depthwise_in),
        bias_(context, scratch, bias_in) {}

  void set_stored(math::PointwiseDepthwiseDesc& desc) const {
    desc.x_stored = x_.storage();
    desc.pointwise_stored = pointwise_.storage();
  }
  math::PointwiseDepthwiseArgs<C> operator()(graph::KernelContext& call) const {
    return {.x = x_(call),
            .pointwise = pointwise_(call),
            .inner_bias = inner_bias_(call),
            .depthwise = depthwise_(call),
            .bias = bias_(call)};
  }

 private:
  StoredIn<C> x_, pointwise_;
  ComputeIn<C> inner_bias_, depthwise_, bias_;
};

// The nodes that compute the depthwise results, before their activation.
graph::Val expand_pointwise_depthwise(graph::ExpandContext& context);

// Pointwise weights: of a window of one element. Rejects others.
void require_pointwise(graph::InferContext& context, const graph::Dims& weights,
                       std::string_view what);
// Where input i is given, it has a value for each channel.
void require_bias(graph::InferContext& context, std::size_t i, graph::Dim channels,
                  std::string_view what);

}  // namespace ondine::kernels::ops
