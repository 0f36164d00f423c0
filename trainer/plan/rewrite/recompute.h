// Recomputation: trades computation for memory by computing values again instead of storing them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "graph/ir/graph.h"

namespace ondine::trainer {

// Bytes of all that a node reads and of its largest output.
std::uint64_t traffic_of(const graph::Node& node, const graph::Graph& graph);

struct Recomputation {
  std::uint64_t goal = 0;                                                 // bytes alive at once
  std::uint64_t max_traffic = std::numeric_limits<std::uint64_t>::max();  // of all added nodes
  bool costly = false;  // also recompute other values when no cheap ones are left
};

// While more bytes than the goal are alive at once, chooses a value that is stored but not used at
// that moment and recomputes it before its next use: the largest one with a cheap operator
// (OpTraits::cheap), or among costly ones that which frees most bytes per traffic. Results keep the
// same bits. Stops early when no such value is left. `outside` marks values that are not in the
// arena. The graph must be typed. Returns whether it recomputes a value.
bool recompute_values(graph::Graph& graph, std::span<const graph::ValueId> outside,
                      const Recomputation& options);

// Removes views that nothing reads. The graph must be ordered.
void drop_unread_views(graph::Graph& graph);

}  // namespace ondine::trainer
