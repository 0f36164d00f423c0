// Nodes that take a tensor apart along axis 0 and put it together, for plans that compute a batch
// in parts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/ir/graph.h"

namespace ondine::trainer {

// A mask of the inputs that have the batch along axis 0, as output 0 has: sample i of it follows
// from sample i of each of them, or from all of those that have one element, and from the other
// inputs. 0 where that is not known of an operator.
std::uint32_t per_sample_inputs(const graph::OpDef& op);

// y = samples [first, last) of x, which become constants of the graph; nullopt where the build
// lacks the operator.
std::optional<graph::Node> slice_node(graph::Graph& graph, graph::ValueId x, graph::ValueId y,
                                      std::int64_t first, std::int64_t last);
// y = the samples of `parts`, one after the other; nullopt where the build lacks the operator.
std::optional<graph::Node> concat_node(std::vector<graph::ValueId> parts, graph::ValueId y);

}  // namespace ondine::trainer
