#include "graph/passes/rewrite.h"

#include <numeric>

namespace ondine::graph {

Substitution::Substitution(const Graph& graph) : targets_(graph.values.size()) {
  std::iota(targets_.begin(), targets_.end(), 0);
}

void Substitution::replace(ValueId old_value, ValueId new_value) {
  targets_[static_cast<std::size_t>(old_value)] = (*this)[new_value];
}

ValueId Substitution::operator[](ValueId id) const {
  return id == no_value ? no_value : targets_[static_cast<std::size_t>(id)];
}

bool Substitution::apply(Node& node) const {
  bool changed = false;
  const auto update = [&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids) {
      changed = changed || id != (*this)[id];
      id = (*this)[id];
    }
  };
  update(node.inputs);
  update(node.references);
  for (Subgraph& subgraph : node.subgraphs) update(subgraph.captures);
  return changed;
}

std::vector<bool> output_flags(const Graph& graph) {
  std::vector<bool> flags(graph.values.size());
  for (const ValueId output : graph.outputs) flags[static_cast<std::size_t>(output)] = true;
  return flags;
}

std::vector<bool> produced_flags(const Graph& graph) {
  std::vector<bool> flags(graph.values.size());
  for (const Node& node : graph.nodes) {
    for (const ValueId output : node.outputs) {
      if (output != no_value) flags[static_cast<std::size_t>(output)] = true;
    }
  }
  return flags;
}

bool run_on_subgraphs(Node& node, const Pass& pass, const PassContext& context) {
  bool changed = false;
  for (Subgraph& subgraph : node.subgraphs) {
    auto copy = std::make_shared<Graph>(*subgraph.graph);
    if (!pass.run(*copy, context)) continue;
    subgraph.graph = std::move(copy);
    changed = true;
  }
  return changed;
}

void drop_unread_constants(Graph& graph) {
  std::vector<bool> read = output_flags(graph);
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.all_inputs()) {
      if (id != no_value) read[static_cast<std::size_t>(id)] = true;
    }
    for (const ValueId id : node.references) {
      if (id != no_value) read[static_cast<std::size_t>(id)] = true;
    }
  }
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (!read[i]) graph.values[i].constant = Tensor();
  }
}

}  // namespace ondine::graph
