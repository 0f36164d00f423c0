#pragma once

#include <functional>
#include <set>
#include <string>

#include "graph/ir/document.h"

namespace ondine::graph {

// Removes the nodes that no output of the graph needs, with what is said of their values. Returns
// the names that the outputs and the remaining nodes read or write.
std::set<std::string, std::less<>> remove_unneeded_nodes(GraphDef& graph);

}  // namespace ondine::graph
