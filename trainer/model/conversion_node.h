// Nodes that convert elements, for plans that store values in another precision.
#pragma once

#include <optional>

#include "graph/ir/graph.h"

namespace ondine::trainer {

// y = x in another floating point dtype; nullopt where the build lacks the operator.
std::optional<graph::Node> conversion_node(graph::ValueId x, graph::ValueId y, DType dtype);

}  // namespace ondine::trainer
