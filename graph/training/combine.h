// Stage 4: the graph that a training step evaluates.
#pragma once

#include <set>
#include <string>

#include "graph/ir/document.h"

namespace ondine::graph {

// main ++ algorithm `index`: inputs, initializers, nodes, outputs and value_info concatenated in
// that order. The main graph alone when the training_info has no algorithm.
GraphDef combine(const ModelDef& model, std::size_t index);

// Names of the state variables: the initializers that some binding has as a key.
std::set<std::string, std::less<>> state_variables(const ModelDef& model);

}  // namespace ondine::graph
