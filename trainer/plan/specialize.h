// The first half of planning: a graph typed for concrete input shapes.
#pragma once

#include <span>

#include <ondine/limits.h>

#include "graph/ir/graph.h"

namespace ondine::trainer {

// Types every node for these inputs, computes what only shapes and constants decide, and drops what
// no output needs.
graph::Graph specialize(const graph::Graph& graph, std::span<const graph::Type> inputs,
                        const Limits& limits);

// Whether every shape of the node is known and it can be bound now.
bool is_static(const graph::Node& node, const graph::Graph& graph);

}  // namespace ondine::trainer
