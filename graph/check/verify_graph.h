// Verifies the invariants of a resolved graph; called after every stage that rewrites one.
#pragma once

#include "graph/ir/graph.h"

namespace ondine::graph {

// Checks that ids are in range, that every value has one source (an input, a constant or one node)
// that precedes its readers, that types are present and that subgraphs match their captures. Throws
// Error(internal) naming node and value, since a violation is a defect of this library. Linear
// time.
void verify_graph(const Graph& graph);

}  // namespace ondine::graph
