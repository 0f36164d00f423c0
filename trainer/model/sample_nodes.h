// Nodes that take a tensor apart along axis 0 and put it together, for plans that compute a batch
// in parts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/ir/graph.h"

namespace ondine::trainer {

// y = samples [first, last) of x, which become constants of the graph; nullopt where the build
// lacks the operator.
std::optional<graph::Node> slice_node(graph::Graph& graph, graph::ValueId x, graph::ValueId y,
                                      std::int64_t first, std::int64_t last);
// y = the samples of `parts`, one after the other; nullopt where the build lacks the operator.
std::optional<graph::Node> concat_node(std::vector<graph::ValueId> parts, graph::ValueId y);

}  // namespace ondine::trainer
