// Orders of nodes that differ in the commit section of a training step
// (trainer/plan/schedule/commit.h).
#pragma once

#include <cstdint>

#include "trainer/plan/schedule/order.h"

namespace ondine::trainer {

// Which nodes may run in the commit section.
enum class CommitScope : std::uint8_t {
  none,     // there is no section
  updates,  // updates, and large gradients that only they read
  all,      // whatever no node that can fail waits for, as most of the backward pass: gradients and
            // what they are computed from need not wait for the end of the step
};

// As order_nodes(): with a section only its updates are in place, and it begins with the first node
// that writes outside of the arena.
Ordering order_nodes(graph::Graph& graph, const std::vector<bool>& outside,
                     std::span<const InPlace> in_place, CommitScope scope);

}  // namespace ondine::trainer
