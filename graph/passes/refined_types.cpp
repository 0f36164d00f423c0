#include "graph/passes/refined_types.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/contract/infer_node.h"

namespace ondine::graph {

bool RefinedTypes::reads(const Node& node) const {
  const auto inputs = node.all_inputs();
  return std::any_of(inputs.begin(), inputs.end(), [&](ValueId id) {
    return knows(id) && refined_[static_cast<std::size_t>(id)];
  });
}

bool RefinedTypes::infer_readers(Node& node) {
  // A Gradient's types follow from the tensors it names.
  if (!reads(node) || !node.references.empty()) return false;
  std::vector<std::pair<Type, std::optional<Dims>>> before;
  for (const ValueId id : node.outputs) {
    if (id == no_value) {
      before.emplace_back();
    } else {
      before.emplace_back(graph_[id].type, *graph_[id].known_dims);
    }
  }
  infer_node(node, graph_);
  bool changed = false;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == no_value) continue;
    const GraphValue& after = graph_[node.outputs[i]];
    const auto& [type, known_dims] = before[i];
    if (after.type == type && *after.known_dims == known_dims) continue;
    add(node.outputs[i]);
    changed = true;
  }
  return changed;
}

}  // namespace ondine::graph
