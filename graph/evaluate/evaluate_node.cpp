#include "graph/evaluate/evaluate_node.h"

#include <algorithm>

#include "graph/evaluate/graph_runner.h"

namespace ondine::graph {

Limits folding_limits(const Node& node, const Graph& graph, Limits limits,
                      std::uint64_t fold_bytes) {
  limits.einsum_points = std::min(limits.einsum_points, fold_bytes);
  const bool makes_text = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
    return id != no_value && graph[id].type.dtype == DType::string;
  });
  if (makes_text) limits.arena_bytes = std::min(limits.arena_bytes, fold_bytes);
  return limits;
}

std::vector<Tensor> evaluate_node(const Node& node, const Graph& graph, const Limits& limits) {
  Graph single;
  Node copy = node;
  for (ValueId& id : copy.inputs) {
    if (id == no_value) continue;
    const GraphValue& value = graph[id];
    id = single.add_temporary(value.name, value.type);
    single[id].constant = value.constant;
  }
  for (ValueId& id : copy.outputs) {
    if (id == no_value) continue;
    id = single.add_temporary(graph[id].name, graph[id].type);
    single.outputs.push_back(id);
  }
  single.nodes.push_back(std::move(copy));
  const auto values = evaluate(single, {}, limits);
  std::vector<Tensor> results(node.outputs.size());
  std::size_t next = 0;
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (node.outputs[k] != no_value) results[k] = values[next++].tensor();
  }
  return results;
}

}  // namespace ondine::graph
