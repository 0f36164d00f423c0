// Whether a network is a transformer.
#pragma once

#include "graph/ir/document.h"

namespace ondine::graph {

// Whether an operator of attention, or a product with what a softmax gave, is in the main graph, a
// subgraph or a function.
bool has_attention(const ModelDef& model);

}  // namespace ondine::graph
