// Large results that wait for their readers while most of the arena is in use.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/ir/graph.h"

namespace ondine::trainer {

// Moves nodes behind the peak of the arena, to just before their first readers, while that lowers
// the peak: their results are not held at it, but what they read is. The gradient of a table that
// is multiplied by the last layer and looked up by the first one is such a result. `outside` marks
// values that are not in the arena (one flag per value). Nodes from commit_begin on stay, and
// nothing moves behind it. `former` is permuted as the nodes are. The graph must be typed.
void postpone_nodes(graph::Graph& graph, const std::vector<bool>& outside, std::size_t commit_begin,
                    std::vector<std::size_t>& former);

}  // namespace ondine::trainer
