// The rules of convolutions, which operators that fuse something into them share.
#pragma once

#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"

namespace ondine::kernels::ops {

// Of y = P(x, w), P being a convolution or, for an operator named ConvTranspose..., a transposed
// one, with the node's attributes. Error(mismatch) where they do not fit.
std::optional<graph::Dims> conv_dims(const graph::NodeView& node,
                                     const std::optional<graph::Dims>& x,
                                     const std::optional<graph::Dims>& w);

void infer_conv(graph::InferContext& context);
graph::Kernel bind_conv(graph::BindContext& context);

}  // namespace ondine::kernels::ops
