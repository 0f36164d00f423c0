// The exported form of a network that was trained quantization-aware.
#pragma once

#include "graph/ir/document.h"

namespace ondine::graph {

// Replaces each QuantizeLinear of an initializer by what it makes of it, and the float32 bias of
// each Conv and Gemm between dequantized factors by int32 multiples of the product of their scales,
// dequantized: the form that runtimes compute in integers. For models that insert_quantization has
// written.
void store_integer_weights(GraphDef& graph);

}  // namespace ondine::graph
