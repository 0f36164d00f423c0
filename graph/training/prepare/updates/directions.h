// Gradients without derivatives: slopes along random directions.
#pragma once

#include <string>
#include <vector>

#include "graph/training/prepare/loss.h"
#include "graph/training/prepare/updates/rules.h"

namespace ondine::graph {

// The points x + e z of the parameters, at which the network of a step computes; e z are the
// offsets.
// Throws Error(unsupported) for parameters of low precision.
Points write_directions(GraphWriter& writer, const std::vector<const InitializerDef*>& trained,
                        const Mezo& settings);
// Appends the loss at the opposite points. Returns a gradient for each parameter, of its type.
std::vector<std::string> write_slopes(GraphWriter& writer, const LossValues& loss,
                                      const std::vector<const InitializerDef*>& trained,
                                      const Mezo& settings, const Points& points);

// Moves each of the first `count` nodes just before the first node that reads it, so that few of
// their values are in memory together.
void move_to_readers(GraphDef& graph, std::size_t count);

}  // namespace ondine::graph
