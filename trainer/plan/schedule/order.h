// Execution order of a plan's nodes.
#pragma once

#include <span>
#include <vector>

#include "graph/ir/graph.h"

namespace ondine::trainer {

// A value that its node may write into the memory of an input.
struct InPlace {
  graph::ValueId value = graph::no_value;
  graph::ValueId input = graph::no_value;
};

// The result of order_nodes.
struct Ordering {
  std::vector<bool> in_place;       // by pair: no node reads the input after the update
  std::vector<bool> committed;      // by pair: computed in the commit section
  std::size_t commit_begin = 0;     // first node of the commit section, which extends to the end
  std::vector<std::size_t> former;  // by node: its position before
};

// Moves each node forward to a position at which it frees at least the memory that it takes, so
// that gradients are consumed by their updates immediately; what is small and follows from inputs
// alone, as a count of steps, comes first. Then calls postpone_nodes()
// (trainer/plan/schedule/postpone.h). `outside` marks values that are not in the arena (one flag
// per value). Pairs of no_value are never in place. With `commit_last` only updates in the commit
// section (trainer/plan/schedule/commit.h) are in place; otherwise there is no commit section. The
// graph must be typed.
Ordering order_nodes(graph::Graph& graph, const std::vector<bool>& outside,
                     std::span<const InPlace> in_place, bool commit_last = false);

// Whether the node that computes pair.value may write it into the memory of pair.input.
bool may_overwrite(const graph::Graph& graph, const graph::Node& node, const InPlace& pair);

// Bytes of a tensor of known shape, 0 for every other type and for strings.
std::size_t bytes_of(const graph::Type& type);

// Whether it is a tensor of known shape, but not of strings.
bool has_fixed_size(const graph::Type& type);

}  // namespace ondine::trainer
