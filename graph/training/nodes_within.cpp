#include "graph/training/nodes_within.h"

#include <algorithm>

#include "graph/training/prepare/names.h"

namespace ondine::graph {

NodesWithin::NodesWithin(const ModelDef& model, Kind kind) : kind_(kind) {
  for (const FunctionDef& one : model.functions) {
    functions_.emplace(Key{one.domain, one.name, one.overload}, &one);
  }
}

bool NodesWithin::contains(const NodeDef& node) {
  if (kind_(node)) return true;
  for (const auto& subgraph : subgraphs_of(node)) {
    if (any(subgraph->nodes)) return true;
  }
  const auto function = functions_.find({node.domain, node.op, *node.overload});
  if (function == functions_.end()) return false;
  const auto [known, added] = calls_.emplace(function->second, false);
  if (added) known->second = any(function->second->nodes);
  return known->second;
}

bool NodesWithin::any(const std::vector<NodeDef>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const NodeDef& node) { return contains(node); });
}

}  // namespace ondine::graph
