// Storage of lower precision: values that wait, as for the backward pass, lie in memory as
// bfloat16.
#pragma once

#include <span>

#include "graph/ir/graph.h"
#include "trainer/plan/place/static_bind.h"

namespace ondine::trainer {

// Rounds large float32 values to bfloat16 that are alive but not read at the point where most bytes
// are alive. A Cast rounds them after their last use before that point; if all their readers before
// it round them anyway, they are rounded where they are computed. Later readers read the rounded
// elements if they accept them; a Cast widens the elements for the others. Earlier readers read the
// elements that were computed. Gradients that an update reads stay as they are. `outside` marks
// values that are not in the arena. The graph must be typed; this orders it. Returns whether values
// changed; none do if the build lacks conversions.
bool compact_values(graph::Graph& graph, std::span<const graph::ValueId> outside,
                    const BindOptions& options);

}  // namespace ondine::trainer
