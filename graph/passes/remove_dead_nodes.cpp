// Removes nodes without readers, also random ones: every node has a random stream of its own, so
// the others draw the same numbers. Removes captures that a subgraph does not read.
#include "graph/passes/rewrite.h"

namespace ondine::graph {
namespace {

bool drop_captures(Subgraph& subgraph) {
  const auto read = read_flags(*subgraph.graph);
  const std::size_t formal = subgraph.formal_inputs();
  const auto unread = [&](std::size_t capture) {
    return !read[static_cast<std::size_t>(subgraph.graph->inputs[formal + capture])];
  };
  std::vector<ValueId> captures;
  std::vector<ValueId> inputs(subgraph.graph->inputs.begin(),
                              subgraph.graph->inputs.begin() + static_cast<std::ptrdiff_t>(formal));
  for (std::size_t i = 0; i < subgraph.captures.size(); ++i) {
    if (unread(i)) continue;
    captures.push_back(subgraph.captures[i]);
    inputs.push_back(subgraph.graph->inputs[formal + i]);
  }
  if (captures.size() == subgraph.captures.size()) return false;
  auto copy = std::make_shared<Graph>(*subgraph.graph);
  copy->inputs = std::move(inputs);
  subgraph.graph = std::move(copy);
  subgraph.captures = std::move(captures);
  return true;
}

bool run(Graph& graph, const PassContext&) {
  bool changed = false;
  for (Node& node : graph.nodes) {
    for (Subgraph& subgraph : node.subgraphs) changed = drop_captures(subgraph) || changed;
  }
  return drop_dead_nodes(graph) || changed;
}

}  // namespace

const Pass remove_dead_nodes{"remove_dead_nodes", run};

}  // namespace ondine::graph
