// The shapes of convolutions and of transposed convolutions, from a node's attributes.
#pragma once

#include "graph/contract/infer.h"
#include "kernels/conv/conv_desc.h"

namespace ondine::kernels::ops {

// Whether the node is ConvTranspose or one of its gradients, by its name.
bool is_transposed_conv(const graph::NodeView& node);

// The dims of y = P(x, w) with the node's attributes. Error(mismatch) where they do not fit.
std::optional<graph::Dims> conv_dims(const graph::NodeView& node,
                                     const std::optional<graph::Dims>& x,
                                     const std::optional<graph::Dims>& w);

// The convolution of a node, that from y to x for a transposed one. conv_dims must accept the
// shapes.
math::ConvShape conv_shape(const graph::NodeView& node, const Shape& x, const Shape& w,
                           const Shape& y);

}  // namespace ondine::kernels::ops
