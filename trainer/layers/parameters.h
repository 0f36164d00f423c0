// Which nodes of a graph read which parameters.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "graph/ir/graph.h"

namespace ondine::trainer {

using ValueIds = std::set<graph::ValueId>;

// Whether input i of a node may be a parameter: it has a derivative and holds no statistics.
bool may_hold_parameter(const graph::Node& node, std::size_t i);

// For each node the constants and inputs in `held` that it reads, directly or through nodes that
// read nothing else. Empty for nodes that read nothing else themselves.
std::vector<ValueIds> parameters_read(const graph::Graph& graph,
                                      std::span<const graph::ValueId> held);

// The constants of a node's subgraphs that are not captured: their sizes, for those that are
// parameters by their element type.
std::uint64_t elements_inside(const graph::Node& node);

// Whether a constant is a parameter by its type and elements.
bool is_parameter(const Tensor& constant);

}  // namespace ondine::trainer
