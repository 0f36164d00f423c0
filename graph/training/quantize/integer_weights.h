// The exported form of a network that was trained quantization-aware.
#pragma once

#include "graph/ir/document.h"

namespace ondine::graph {

// Replaces each QuantizeLinear of an initializer by what it makes of it, and the float32 bias of
// each Conv and Gemm between dequantized factors by int32 multiples of the product of their scales,
// dequantized: the form that runtimes compute in integers. For models that insert_quantization has
// written. `weights`: int8, or uint8 with a zero point of 128.
void store_integer_weights(GraphDef& graph, DType weights);

}  // namespace ondine::graph
