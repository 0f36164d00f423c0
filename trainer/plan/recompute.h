// Computing values again instead of keeping them.
#pragma once

#include <cstdint>
#include <span>

#include "graph/ir/graph.h"

namespace ondine::trainer {

// While more than `goal` bytes of values are alive at once: takes the largest value that is only
// waiting at that moment and whose operator is cheap (Facts::cheap), and computes it again before
// its next use. Results stay the same, bit by bit. Stops early when no value is left to take.
// `outside` are values that do not lie in the arena. The graph must be typed.
void recompute_values(graph::Graph& graph, std::span<const graph::ValueId> outside,
                      std::uint64_t goal);

}  // namespace ondine::trainer
