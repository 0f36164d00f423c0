// A node that takes one of its subgraphs, as the nodes of that subgraph.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "graph/ir/graph.h"

namespace ondine::trainer {

struct InlinedBranch {
  std::vector<graph::Node> nodes;
  // Outputs of the node for which the branch returns a value that it does not compute.
  std::vector<std::pair<graph::ValueId, graph::ValueId>> same;  // output, value
};

// Where the condition of `node` is constant: the branch that it takes, whose values are added to
// `graph`. nullopt for any other node, for a branch that draws random numbers, which depend on the
// node around it, and where an output of the graph would have to be another value.
std::optional<InlinedBranch> inline_taken_branch(const graph::Node& node, graph::Graph& graph);

}  // namespace ondine::trainer
