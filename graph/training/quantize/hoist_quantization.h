// Rounds activations where they are made.
#pragma once

#include "graph/ir/document.h"

namespace ondine::graph {

// Moves each QuantizeLinear with one scale in front of the MaxPool, Flatten, Reshape, Transpose,
// Squeeze, Unsqueeze and Identity nodes that nothing else reads. These then work on integers, which
// changes no result, and the layer before them gives integers.
void hoist_quantization(ModelDef& model);

}  // namespace ondine::graph
