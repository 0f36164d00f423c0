// The shapes of convolutions and of transposed convolutions, from a node's attributes.
#pragma once

#include "graph/contract/infer.h"
#include "kernels/conv/conv_desc.h"

namespace ondine::kernels::ops {

// Whether the node is ConvTranspose or one of its gradients, by its name.
bool is_transposed_conv(const graph::NodeView& node);

// The dims of an input, where its rank is known.
std::optional<graph::Dims> dims_if_ranked(const graph::InferContext& context, std::size_t i);
// Rejects a node whose input 0 does not have the dims y of what it is the derivative by.
void require_derivative(const graph::InferContext& context, const std::optional<graph::Dims>& y);

// The dims of y = P(x, w) with the node's attributes. Error(mismatch) where they do not fit.
std::optional<graph::Dims> conv_dims(const graph::NodeView& node,
                                     const std::optional<graph::Dims>& x,
                                     const std::optional<graph::Dims>& w);

// The convolution of a node, that from y to x for a transposed one. conv_dims must accept the
// shapes.
math::ConvShape conv_shape(const graph::NodeView& node, const Shape& x, const Shape& w,
                           const Shape& y);

}  // namespace ondine::kernels::ops
