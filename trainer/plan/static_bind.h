// Binding a node whose shapes are all known.
#pragma once

#include <optional>

#include <ondine/limits.h>

#include "graph/contract/kernel.h"
#include "graph/ir/graph.h"

namespace ondine::trainer {

struct BoundNode {
  graph::Kernel kernel;
  std::size_t workspace_bytes = 0;
  graph::Implementation implementation;
};

// Errors carry the node as context. Nothing when the operator cannot be bound before it has seen
// the elements of an input that are not constant: it then runs as a dynamic node.
std::optional<BoundNode> bind_static(const graph::Node& node, const graph::Graph& graph,
                                     const Limits& limits, int threads);

}  // namespace ondine::trainer
