// Normalization by constants as part of the convolution before it.
#pragma once

#include "graph/ir/document.h"

namespace ondine::graph {

// Removes every BatchNormalization with constant parameters that alone reads the result of a Conv
// whose weights nothing else reads: weights and bias take its place. float32; the same function up
// to rounding.
void fold_normalization_into_convolutions(GraphDef& graph);

}  // namespace ondine::graph
