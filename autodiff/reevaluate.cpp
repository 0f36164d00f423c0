#include "autodiff/reevaluate.h"

#include <algorithm>

namespace ondine::autodiff {

using namespace graph;  // NOLINT

Val Reevaluation::replace(Val named, Val at) {
  const auto [value, added] = values_.emplace(named.id(), at.id());
  if (!added && value->second == at.id()) return builder_->value(moved_[named.id()]);
  const Val leaf = builder_->node("Identity", {at});
  moved_[named.id()] = leaf.id();
  replaced_.insert(named.id());
  return leaf;
}

Val Reevaluation::evaluate(Val y) {
  const auto needed = nodes_needed_for(y);
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (needed[i]) copy_if_moved(builder_->graph().nodes[i]);
  }
  return builder_->value(moved(y.id()));
}

ValueId Reevaluation::moved(ValueId id) const {
  const auto found = moved_.find(id);
  return found == moved_.end() ? id : found->second;
}

std::vector<bool> Reevaluation::nodes_needed_for(Val y) const {
  const Graph& graph = builder_->graph();
  std::vector<bool> wanted(graph.values.size());
  wanted[static_cast<std::size_t>(y.id())] = true;
  std::vector<bool> needed(graph.nodes.size());
  for (std::size_t i = needed.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    needed[i] = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
      return id != no_value && wanted[static_cast<std::size_t>(id)];
    });
    if (!needed[i]) continue;
    for (const ValueId id : node.all_inputs()) {
      if (id != no_value) wanted[static_cast<std::size_t>(id)] = true;
    }
  }
  return needed;
}

void Reevaluation::copy_if_moved(Node node) {
  const auto inputs = node.all_inputs();
  const bool depends =
      std::any_of(inputs.begin(), inputs.end(), [&](ValueId id) { return moved_.contains(id); });
  if (!depends) return;
  for (ValueId& id : node.inputs) id = moved(id);
  for (Body& body : node.bodies) {
    for (ValueId& id : body.captures) id = moved(id);
  }
  for (ValueId& id : node.outputs) {
    if (id == no_value) continue;
    const ValueId copy = builder_->graph().add_temporary(builder_->graph()[id].name + "_again");
    if (!replaced_.contains(id)) moved_[id] = copy;
    id = copy;
  }
  builder_->append(std::move(node));
}

}  // namespace ondine::autodiff
