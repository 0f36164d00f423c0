// A network as it infers, where its file holds it as it trained.
#pragma once

#include "graph/ir/document.h"

namespace ondine::graph {

// BatchNormalization uses its running statistics and Dropout passes its input on, where an exporter
// wrote both in training mode. A Dropout whose mode is fed or computed, and a BatchNormalization
// whose next statistics are read, stay as they are.
void set_inference_mode(GraphDef& graph);

}  // namespace ondine::graph
