// Values that are computed again by a node that computes most of them anyway.
#pragma once

#include <span>

#include "graph/ir/graph.h"

namespace ondine::trainer {

// A node of the operator that a node just before it repeats (OpDef::repeats) becomes output 1 of
// that node. `outside` marks values that are not in the arena. The graph must be typed; it is
// ordered by this. Returns whether it changed nodes.
bool join_repeats(graph::Graph& graph, std::span<const graph::ValueId> outside);

}  // namespace ondine::trainer
