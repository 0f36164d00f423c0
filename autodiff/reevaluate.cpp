#include "autodiff/reevaluate.h"

#include <algorithm>

namespace ondine::autodiff {

using namespace graph;  // NOLINT

Val Reevaluation::replace(Val named, Val at) {
  const auto [value, added] = values_.emplace(named.id(), at.id());
  if (!added && value->second == at.id()) return builder_->value(replacements_[named.id()]);
  const Val leaf = builder_->node("Identity", {at});
  replacements_[named.id()] = leaf.id();
  replaced_.insert(named.id());
  return leaf;
}

Val Reevaluation::evaluate(Val y) {
  for (const std::size_t i : nodes_needed_for(y)) copy_if_affected(builder_->graph().nodes[i]);
  return builder_->value(replacement(y.id()));
}

ValueId Reevaluation::replacement(ValueId id) const {
  const auto found = replacements_.find(id);
  return found == replacements_.end() ? id : found->second;
}

std::vector<std::size_t> Reevaluation::nodes_needed_for(Val y) {
  std::vector<ValueId> named;
  for (const auto& [id, at] : values_) named.push_back(id);
  const ValueId result = y.id();
  return flow_->between(
      named, {&result, 1}, [](ValueId) { return false; },
      [](const Node&, std::size_t) { return true; });
}

void Reevaluation::copy_if_affected(Node node) {
  const auto inputs = node.all_inputs();
  const bool depends = std::any_of(inputs.begin(), inputs.end(),
                                   [&](ValueId id) { return replacements_.contains(id); });
  if (!depends) return;
  for (ValueId& id : node.inputs) id = replacement(id);
  for (Subgraph& subgraph : node.subgraphs) {
    for (ValueId& id : subgraph.captures) id = replacement(id);
  }
  for (ValueId& id : node.outputs) {
    if (id == no_value) continue;
    const ValueId copy = builder_->graph().add_temporary(builder_->graph()[id].name + "_again");
    if (!replaced_.contains(id)) replacements_[id] = copy;
    id = copy;
  }
  builder_->append(std::move(node));
}

}  // namespace ondine::autodiff
