#include "graph/training/needed.h"

#include <algorithm>

#include "graph/training/gradient_names.h"
#include "graph/training/prepare/names.h"

namespace ondine::graph {

std::set<std::string, std::less<>> remove_unneeded_nodes(GraphDef& graph) {
  std::set<std::string, std::less<>> needed;
  for (const ValueDef& output : graph.outputs) needed.insert(output.name);
  std::vector<NodeDef> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (std::none_of(node->outputs.begin(), node->outputs.end(),
                     [&](const std::string& name) { return needed.contains(name); })) {
      continue;
    }
    for (const std::string& name : reads_of(*node)) needed.insert(name);
    for (std::string& name : named_by_gradients(*node)) needed.insert(std::move(name));
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
  for (const NodeDef& node : graph.nodes) needed.insert(node.outputs.begin(), node.outputs.end());
  std::erase_if(graph.value_infos, [&](const ValueDef& one) { return !needed.contains(one.name); });
  std::erase_if(graph.quantization,
                [&](const QuantizationDef& one) { return !needed.contains(one.tensor); });
  return needed;
}

}  // namespace ondine::graph
