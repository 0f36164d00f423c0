// Storage of lower precision: values that wait, as for the backward pass, lie in memory as
// bfloat16.
#pragma once

#include <span>

#include "graph/ir/graph.h"
#include "trainer/plan/place/static_bind.h"

namespace ondine::trainer {

// Large float32 values that are alive but not read where most bytes are alive are rounded to
// bfloat16 after their last use before that point, by a Cast, or where they are computed if all
// that reads them before it rounds them, too. What reads them later reads the rounded elements
// where it accepts them; a Cast widens them for the rest. What reads them before reads what was
// computed. Gradients that an update reads stay as they are. `outside` marks values that are not in
// the arena. The graph must be typed; it is ordered by this. Returns whether it changed values; it
// does not where the build lacks conversions.
bool compact_values(graph::Graph& graph, std::span<const graph::ValueId> outside,
                    const BindOptions& options);

}  // namespace ondine::trainer
