// The memory that a plan takes, apart from the arena.
#pragma once

#include <cstddef>

#include "trainer/plan/plan.h"

namespace ondine::trainer {

// Estimated bytes of the heap that the plan holds for itself: not the constants that it shares with
// `source`, the graph it was made of.
std::size_t bytes_of(const Plan& plan, const graph::Graph& source);

}  // namespace ondine::trainer
