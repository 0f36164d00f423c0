// The order in which a plan runs its nodes.
#pragma once

#include <span>
#include <vector>

#include "graph/ir/graph.h"

namespace ondine::trainer {

// A value that may be written into the memory of an input, by the node that computes it.
struct InPlace {
  graph::ValueId value = graph::no_value;
  graph::ValueId input = graph::no_value;
};

// Moves each node forward to where the memory it frees is at least what it takes, so that gradients
// go into their updates at once. `outside` are values that do not lie in the arena (one flag each).
// Of `in_place` those pairs are honoured whose flag comes back true: no node reads the input after
// its update; pairs of no_value never are. The graph must be typed.
std::vector<bool> order_nodes(graph::Graph& graph, const std::vector<bool>& outside,
                              std::span<const InPlace> in_place);

// Bytes of a tensor of known shape, 0 for anything else.
std::size_t bytes_of(const graph::Type& type);

}  // namespace ondine::trainer
