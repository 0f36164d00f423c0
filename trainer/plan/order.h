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

// What order_nodes decided.
struct Ordering {
  std::vector<bool> in_place;    // by pair: no node reads the input after its update
  std::vector<bool> committed;   // by pair: the value is computed in the commit section
  std::size_t commit_begin = 0;  // the first node of the commit section, which is the rest of all
};

// Moves each node forward to where the memory it frees is at least what it takes, so that gradients
// go into their updates at once. `outside` are values that do not lie in the arena (one flag each).
// Pairs of no_value are never honoured. With `commit_last` only updates of the commit section
// (trainer/plan/commit.h) are, else there is none. The graph must be typed.
Ordering order_nodes(graph::Graph& graph, const std::vector<bool>& outside,
                     std::span<const InPlace> in_place, bool commit_last = false);

// Whether the node, which computes pair.value, may do so in the memory of pair.input.
bool may_overwrite(const graph::Graph& graph, const graph::Node& node, const InPlace& pair);

// Bytes of a tensor of known shape, 0 for anything else.
std::size_t bytes_of(const graph::Type& type);

}  // namespace ondine::trainer
