// The shapes of convolutions and of transposed convolutions, from a node's attributes.
#pragma once

#include "graph/contract/infer.h"
#include "kernels/conv/conv_desc.h"

namespace ondine::kernels::ops {

// Whether a node's convolution P is transposed: its operator is named ConvTranspose...
bool is_transposed_conv(const graph::NodeView& node);

// Of y = P(x, w) with the node's attributes. Error(mismatch) where they do not fit.
std::optional<graph::Dims> conv_dims(const graph::NodeView& node,
                                     const std::optional<graph::Dims>& x,
                                     const std::optional<graph::Dims>& w);

// The convolution of a node; a transposed one goes from y to x. The shapes must have been through
// conv_dims.
math::ConvShape conv_shape(const graph::NodeView& node, const Shape& x, const Shape& w,
                           const Shape& y);

}  // namespace ondine::kernels::ops
