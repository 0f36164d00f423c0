#include "autodiff/outer_path.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "autodiff/expand.h"

namespace ondine::autodiff {

using namespace graph;  // NOLINT

namespace {

// Marks the values of `graph` that Gradients in it and in its subgraphs name in xs and zs.
std::vector<bool> values_of_gradients(const Graph& graph) {
  std::vector<bool> named(graph.values.size());
  for (const Node& node : graph.nodes) {
    if (node.op == &gradient_op) {
      for (std::size_t i = 0; i + 1 < node.references.size(); ++i) {
        named[index(node.references[i])] = true;
      }
    }
    for (const Subgraph& subgraph : node.subgraphs) {
      const auto inner = values_of_gradients(*subgraph.graph);
      const std::size_t formals = subgraph.formal_inputs();
      for (std::size_t i = 0; i < subgraph.captures.size(); ++i) {
        if (inner[index(subgraph.graph->inputs[formals + i])])
          named[index(subgraph.captures[i])] = true;
      }
    }
  }
  return named;
}

}  // namespace

OuterPath::OuterPath(Graph& outer, Dataflow& flow, Graph& inner, std::vector<ValueId>& captures)
    : outer_(&outer), flow_(&flow), inner_(&inner), captures_(&captures) {
  if (!has_gradient(inner)) return;
  const std::size_t formals = inner.inputs.size() - captures.size();
  for (std::size_t i = 0; i < captures.size(); ++i) {
    inner_of_[captures[i]] = inner.inputs[formals + i];
  }
  const auto positions = between(captures);
  if (positions.empty()) return;
  const std::vector<Node> own = std::exchange(inner.nodes, {});
  for (const std::size_t position : positions) add_copy(position);
  inner.nodes.insert(inner.nodes.end(), own.begin(), own.end());
}

// The outer nodes on a path from a named value to a captured one.
std::vector<std::size_t> OuterPath::between(const std::vector<ValueId>& captures) {
  const auto named = values_of_gradients(*inner_);
  std::unordered_set<ValueId> depends;
  std::vector<ValueId> xs;
  for (const ValueId id : captures) {
    if (!named[index(inner_of_[id])]) continue;
    depends.insert(id);
    xs.push_back(id);
  }
  if (xs.empty()) return {};
  const auto candidates = flow_->between(
      xs, captures, [](ValueId) { return false; }, [](const Node&, std::size_t) { return true; });
  const auto any = [](std::span<const ValueId> ids, const std::unordered_set<ValueId>& marked) {
    return std::any_of(ids.begin(), ids.end(), [&](ValueId id) { return marked.contains(id); });
  };
  std::vector<std::size_t> following;
  for (const std::size_t position : candidates) {
    const Node& node = outer_->nodes[position];
    const auto inputs = node.all_inputs();
    if (!std::any_of(inputs.begin(), inputs.end(),
                     [&](ValueId id) { return id != no_value && depends.contains(id); })) {
      continue;
    }
    following.push_back(position);
    for (const ValueId id : node.outputs) {
      if (id != no_value) depends.insert(id);
    }
  }
  // Without those whose results only nodes beside the path read.
  std::unordered_set<ValueId> needed(captures.begin(), captures.end());
  std::vector<std::size_t> positions;
  for (std::size_t k = following.size(); k-- > 0;) {
    const Node& node = outer_->nodes[following[k]];
    if (!any(node.outputs, needed)) continue;
    for (const ValueId id : node.all_inputs()) {
      if (id != no_value) needed.insert(id);
    }
    positions.push_back(following[k]);
  }
  std::reverse(positions.begin(), positions.end());
  return positions;
}

void OuterPath::capture(Graph& inner, ValueId id, ValueId outer) {
  inner.inputs.push_back(id);
  captures_->push_back(outer);
}

// The inner value that stands for an outer one, captured if there was none.
ValueId OuterPath::inside(ValueId outer) {
  if (outer == no_value) return no_value;
  ValueId& id = inner_of_.try_emplace(outer, no_value).first->second;
  if (id != no_value) return id;
  const GraphValue& value = (*outer_)[outer];
  id = inner_->add_temporary(value.name, value.type);
  (*inner_)[id].constant = value.constant;
  (*inner_)[id].known_dims = value.known_dims;
  capture(*inner_, id, outer);
  return id;
}

void OuterPath::add_copy(std::size_t position) {
  Node node = outer_->nodes[position];
  for (ValueId& id : node.inputs) id = inside(id);
  for (Subgraph& subgraph : node.subgraphs) {
    for (ValueId& id : subgraph.captures) id = inside(id);
  }
  for (ValueId& id : node.outputs) {
    if (id == no_value) continue;
    const ValueId outer = id;
    ValueId& known = inner_of_.try_emplace(outer, no_value).first->second;
    id = known;
    if (id == no_value) {
      const GraphValue& value = (*outer_)[outer];
      id = known = inner_->add_temporary(value.name, value.type);
      continue;
    }
    // A copy computes the value now; it is no longer captured.
    const auto input = std::find(inner_->inputs.begin(), inner_->inputs.end(), id);
    const auto formals = inner_->inputs.end() - static_cast<std::ptrdiff_t>(captures_->size());
    captures_->erase(captures_->begin() + (input - formals));
    inner_->inputs.erase(input);
  }
  inner_->nodes.push_back(node);
  copies_.push_back({position, std::move(node)});
}

void OuterPath::remove_from(Graph& expanded) {
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    // Gradient rules may have added outputs to the node.
    const Node& now = expanded.nodes[i];
    auto& outputs = outer_->nodes[copies_[i].outer].outputs;
    if (outputs.size() < now.outputs.size()) outputs.resize(now.outputs.size(), no_value);
    for (std::size_t k = 0; k < now.outputs.size(); ++k) {
      const ValueId id = now.outputs[k];
      if (id == no_value) continue;
      if (outputs[k] == no_value) {
        outputs[k] = outer_->add_temporary(expanded[id].name, expanded[id].type);
      }
      capture(expanded, id, outputs[k]);
    }
    flow_->refresh(copies_[i].outer);
  }
  expanded.nodes.erase(expanded.nodes.begin(),
                       expanded.nodes.begin() + static_cast<std::ptrdiff_t>(copies_.size()));
}

}  // namespace ondine::autodiff
