// The attribute `activation` of ConvActivation and GemmActivation.
#pragma once

#include "graph/contract/node_view.h"
#include "kernels/math/gemm.h"

namespace ondine::kernels::ops {

// "Relu", "Relu6" (bounds 0 and 6), or no attribute: none.
math::Activation fused_activation(const graph::NodeView& node);

}  // namespace ondine::kernels::ops
