// The invariants of a resolved graph, checked after every stage that rewrites it.
#pragma once

#include "graph/ir/graph.h"

namespace ondine::graph {

// Ids in range, every value with one source (an input, a constant or one node) that comes before
// its readers, types present, bodies with captures that fit. Throws Error(internal) naming node and
// value, for only a defect of this library breaks them. Linear time; bodies included.
void verify_graph(const Graph& graph);

}  // namespace ondine::graph
