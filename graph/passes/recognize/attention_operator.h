// A part of recognize_attention: ONNX's Attention operator.
#pragma once

#include "graph/passes/pass.h"

namespace ondine::graph {

// Attention without past keys or windows becomes ScaledAttention, so that
// what lies around it is fused with it. Masks must be constants that leave no row without a key:
// Attention gives 0 there, ScaledAttention NaN.
bool read_attention_operators(Graph& graph, const PassContext& context);

}  // namespace ondine::graph
