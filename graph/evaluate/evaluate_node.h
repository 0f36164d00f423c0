// Evaluation of a node whose inputs are constants.
#pragma once

#include <vector>

#include <ondine/limits.h>

#include "graph/ir/graph.h"

namespace ondine::graph {

// The outputs of a node whose inputs are all constants in `graph`; undefined where omitted. The
// node must have a kernel and no subgraphs.
std::vector<Tensor> evaluate_node(const Node& node, const Graph& graph, const Limits& limits);
// The limits for a node that is evaluated while a model is loaded, to become a constant: strings,
// whose contents types do not tell, get no more than `fold_bytes`.
Limits folding_limits(const Node& node, const Graph& graph, Limits limits,
                      std::uint64_t fold_bytes);

}  // namespace ondine::graph
