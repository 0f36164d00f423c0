// Multiply-adds of a node, from the shapes of its inputs and outputs.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/ir/graph.h"

namespace ondine::trainer {

// Multiply-adds by the formulas of <ondine/layers.h>; 0 for operators without one, nullopt if a
// shape that the formula needs is unknown. Saturates.
std::optional<std::uint64_t> multiply_adds(const graph::Node& node, const graph::Graph& graph);

}  // namespace ondine::trainer
