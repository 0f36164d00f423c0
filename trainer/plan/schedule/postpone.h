// Large results that wait for their readers while most of the arena is in use.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/ir/graph.h"

namespace ondine::trainer {

// While it lowers the peak of the arena, moves a node after the peak, to just before its first
// reader: at the peak its inputs are alive instead of its results. An example is the gradient of a
// table that the last layer multiplies by and the first layer looks up. `outside` marks
// values that are not in the arena (one flag per value). No node moves past commit_begin, and nodes
// from there on move only `within_commits`. `former` is permuted as the nodes are. The graph must
// be typed.
void postpone_nodes(graph::Graph& graph, const std::vector<bool>& outside, std::size_t commit_begin,
                    std::vector<std::size_t>& former, bool within_commits = false);

}  // namespace ondine::trainer
