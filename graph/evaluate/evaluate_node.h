// Evaluation of a node whose inputs are constants.
#pragma once

#include <vector>

#include <ondine/limits.h>

#include "graph/ir/graph.h"

namespace ondine::graph {

// The outputs of a node whose inputs are all constants in `graph`; undefined where omitted. The
// node must have a kernel and no subgraphs.
std::vector<Tensor> evaluate_node(const Node& node, const Graph& graph, const Limits& limits);

}  // namespace ondine::graph
