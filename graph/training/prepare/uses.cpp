#include "graph/training/prepare/uses.h"

#include <set>

#include "graph/training/prepare/names.h"

namespace ondine::graph {

bool only_moves(const NodeDef& node) noexcept {
  return node.domain.empty() &&
         one_of(node.op, {"Cast", "DequantizeLinear", "Expand", "Flatten", "Gather", "Identity",
                          "QuantizeLinear", "Reshape", "Slice", "Split", "Squeeze", "Tile",
                          "Transpose", "Unsqueeze"});
}

void Uses::collect(const GraphDef& graph) {
  for (const NodeDef& node : graph.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].empty()) readers_[node.inputs[i]].push_back({&node, i});
    }
    for (const auto& subgraph : subgraphs_of(node)) collect(*subgraph);
  }
}

std::vector<Use> Uses::of(std::string_view name) const {
  std::vector<Use> result;
  std::set<std::string_view> seen{name};
  std::vector<std::string_view> open{name};
  while (!open.empty()) {
    const auto found = readers_.find(open.back());
    open.pop_back();
    if (found == readers_.end()) continue;
    for (const Use& use : found->second) {
      if (!only_moves(*use.node) || use.input != 0) {
        result.push_back(use);
        continue;
      }
      for (const std::string& output : use.node->outputs) {
        if (!output.empty() && seen.insert(output).second) open.push_back(output);
      }
    }
  }
  return result;
}

}  // namespace ondine::graph
