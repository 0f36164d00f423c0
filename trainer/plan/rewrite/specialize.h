// Specializes a graph for concrete input shapes, the first half of planning.
#pragma once

#include <span>

#include <ondine/limits.h>

#include "graph/ir/graph.h"

namespace ondine::trainer {

// Types every node for these inputs, evaluates nodes that depend only on shapes and constants,
// takes the branches whose conditions are known by that into the graph, and removes nodes that none
// of the outputs needs. The result's outputs are `outputs`.
graph::Graph specialize(const graph::Graph& graph, std::span<const graph::Type> inputs,
                        std::span<const graph::ValueId> outputs, const Limits& limits);

// Whether all shapes of the node are known, so that it can be bound.
bool is_static(const graph::Node& node, const graph::Graph& graph);

}  // namespace ondine::trainer
