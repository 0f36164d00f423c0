// Removes nodes without readers, also random ones: every node has a random stream of its own, so
// the others draw the same numbers. Removes captures that a subgraph does not read.
#include <algorithm>

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

bool run(Graph& graph, const PassContext& context) {
  auto live = output_flags(graph);
  bool changed = false;
  std::vector<bool> keep(graph.nodes.size());
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    Node& node = graph.nodes[i];
    keep[i] = !all_outputs(node, [&](ValueId id) { return !live[static_cast<std::size_t>(id)]; });
    if (!keep[i]) continue;
    changed = run_on_subgraphs(node, remove_dead_nodes, context) || changed;
    for (Subgraph& subgraph : node.subgraphs) changed = drop_captures(subgraph) || changed;
    for (const ValueId id : node.all_inputs()) {
      if (id != no_value) live[static_cast<std::size_t>(id)] = true;
    }
    for (const ValueId id : node.references) live[static_cast<std::size_t>(id)] = true;
  }
  std::size_t i = 0;
  const auto removed = std::erase_if(graph.nodes, [&](const Node&) { return !keep[i++]; });
  return changed || removed > 0;
}

}  // namespace

const Pass remove_dead_nodes{"remove_dead_nodes", run};

}  // namespace ondine::graph
