// Computing values again instead of keeping them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "graph/ir/graph.h"

namespace ondine::trainer {

// What a node reads and writes to compute output 0, in bytes.
std::uint64_t traffic_of(const graph::Node& node, const graph::Graph& graph);

struct Recomputation {
  std::uint64_t goal = 0;                                                 // bytes alive at once
  std::uint64_t max_traffic = std::numeric_limits<std::uint64_t>::max();  // of all nodes added
  bool costly = false;  // when no cheap values are left, others too
};

// While more than the goal is alive at once: takes a value that is only waiting at that moment and
// computes it again before its next use; the largest one whose operator is cheap (OpTraits::cheap),
// of the costly ones that which frees most for its traffic. Results stay the same, bit by bit.
// Stops early when no value is left to take. `outside` are values that do not lie in the arena. The
// graph must be typed. Returns whether it took one.
bool recompute_values(graph::Graph& graph, std::span<const graph::ValueId> outside,
                      const Recomputation& options);

}  // namespace ondine::trainer
