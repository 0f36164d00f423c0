// The attribute `activation` of ConvActivation, GemmActivation and ConvChain.
#pragma once

#include "graph/contract/builder.h"
#include "graph/contract/node_view.h"
#include "kernels/matmul/gemm_primitive.h"

namespace ondine::kernels::ops {

// "Relu", "Relu6" (bounds 0 and 6), "HardSwish", "Swish", or no attribute: none.
math::Activation named_activation(const graph::NodeView& node, std::string_view attribute);
// named_activation for products, which apply only the first two.
math::Activation fused_activation(const graph::NodeView& node,
                                  std::string_view attribute = "activation");
// The nodes that compute the activation of y; alpha is of Swish.
graph::Val activated(graph::ExpandContext& context, const graph::Val& y,
                     math::Activation activation, float alpha = 1);

// Expands into the operator named without the suffix "Activation", then the activation.
std::vector<graph::Val> expand_fused_activation(graph::ExpandContext& context);

}  // namespace ondine::kernels::ops
