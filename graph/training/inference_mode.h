// Switches a network that was exported in training mode to inference mode.
#pragma once

#include "graph/ir/document.h"

namespace ondine::graph {

// BatchNormalization uses its running statistics and Dropout becomes the identity. Unchanged: a
// Dropout whose mode is an input or computed, and a BatchNormalization whose updated statistics are
// read.
void set_inference_mode(GraphDef& graph);

}  // namespace ondine::graph
