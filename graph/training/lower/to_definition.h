// The way back from a resolved graph to a definition with names.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/ir/document.h"
#include "graph/ir/graph.h"

namespace ondine::graph {

// Inputs and outputs of a graph's definition, under these names: all different.
struct GraphPorts {
  std::vector<std::pair<std::string, ValueId>> inputs;
  std::vector<std::pair<std::string, ValueId>> outputs;
  // Names that no other value may take, and initial values of inputs.
  std::vector<InitializerDef> defaults;
};

// Constants that are read become initializers. Gradient nodes are not allowed.
GraphDef to_definition(const Graph& graph, const GraphPorts& ports);

TypeDef to_definition(const Type& type, const Symbols& symbols);

}  // namespace ondine::graph
