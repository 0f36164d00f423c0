// Initialization graphs: what they see of the model around them.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "graph/ir/document.h"

namespace ondine::graph {

// The names that the graph and those inside it read and none of them defines. State variables are
// "shared by multiple graphs": an initialization may read them by such names.
std::set<std::string_view> free_names(const GraphDef& graph);

// An initialization graph with the state variables that it reads as initializers of its own.
struct InitializationGraph {
  GraphDef graph;
  std::set<std::string, std::less<>> variables;  // their names
};
// Requires an initialization in the training information `index`.
InitializationGraph initialization_graph(const ModelDef& model, std::size_t index);

}  // namespace ondine::graph
