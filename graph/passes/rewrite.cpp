#include "graph/passes/rewrite.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>

namespace ondine::graph {
namespace {

bool names_values(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    return !node.references.empty() ||
           std::any_of(node.subgraphs.begin(), node.subgraphs.end(),
                       [](const Subgraph& subgraph) { return names_values(*subgraph.graph); });
  });
}

}  // namespace

Substitution::Substitution(const Graph& graph) : targets_(graph.values.size()) {
  std::iota(targets_.begin(), targets_.end(), 0);
}

void Substitution::replace(ValueId old_value, ValueId new_value) {
  targets_[static_cast<std::size_t>(old_value)] = (*this)[new_value];
}

ValueId Substitution::operator[](ValueId id) const {
  // no_value is above all ids.
  const auto index = static_cast<std::size_t>(id);
  return index < targets_.size() ? targets_[index] : id;
}

bool Substitution::apply(Node& node) const {
  bool changed = false;
  const auto update = [&](std::span<ValueId> ids) {
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

std::vector<bool> read_flags(const Graph& graph) {
  auto flags = output_flags(graph);
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.all_inputs()) {
      if (id != no_value) flags[static_cast<std::size_t>(id)] = true;
    }
    for (const ValueId id : node.references) {
      if (id != no_value) flags[static_cast<std::size_t>(id)] = true;
    }
  }
  return flags;
}

std::vector<bool> named_flags(const Graph& graph) {
  std::vector<bool> flags(graph.values.size());
  const auto mark = [&](ValueId id) {
    if (id != no_value) flags[static_cast<std::size_t>(id)] = true;
  };
  for (const Node& node : graph.nodes) {
    std::for_each(node.references.begin(), node.references.end(), mark);
    for (const Subgraph& subgraph : node.subgraphs) {
      if (!names_values(*subgraph.graph)) continue;
      std::for_each(subgraph.captures.begin(), subgraph.captures.end(), mark);
    }
  }
  return flags;
}

bool captures_flagged(const Node& node, const std::vector<bool>& flags) {
  return std::ranges::any_of(node.subgraphs, [&](const Subgraph& subgraph) {
    return std::ranges::any_of(subgraph.captures, [&](ValueId id) {
      return id != no_value && flags[static_cast<std::size_t>(id)];
    });
  });
}

bool drop_dead_nodes(Graph& graph) {
  auto live = output_flags(graph);
  std::vector<bool> dead(graph.nodes.size());
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    dead[i] = all_outputs(node, [&](ValueId id) { return !live[static_cast<std::size_t>(id)]; });
    if (dead[i]) continue;
    for (const ValueId id : node.all_inputs()) {
      if (id != no_value) live[static_cast<std::size_t>(id)] = true;
    }
    for (const ValueId id : node.references) live[static_cast<std::size_t>(id)] = true;
  }
  erase_nodes(graph, dead);
  return std::ranges::count(dead, true) > 0;
}

void erase_nodes(Graph& graph, const std::vector<bool>& gone) {
  std::size_t i = 0;
  std::erase_if(graph.nodes, [&](const Node&) { return gone[i++]; });
}

Graph without_unused_values(Graph graph) {
  std::vector<bool> used = output_flags(graph);
  const auto for_each_list = [](Node& node, const auto& visit) {
    visit(node.inputs);
    visit(node.outputs);
    visit(node.references);
    for (Subgraph& subgraph : node.subgraphs) visit(subgraph.captures);
  };
  const auto mark = [&](std::span<const ValueId> ids) {
    for (const ValueId id : ids) {
      if (id != no_value) used[static_cast<std::size_t>(id)] = true;
    }
  };
  mark(graph.inputs);
  for (Node& node : graph.nodes) for_each_list(node, mark);
  for (std::size_t i = 0; i < used.size(); ++i) {
    used[i] = used[i] || graph.values[i].declared->kind != TypeKind::unknown;
  }
  Graph kept;
  kept.name = std::move(graph.name);
  kept.symbols = std::move(graph.symbols);
  kept.values.reserve(static_cast<std::size_t>(std::count(used.begin(), used.end(), true)));
  std::vector<ValueId> ids(used.size(), no_value);
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    GraphValue& value = graph.values[i];
    ids[i] = kept.add_value(std::move(value.name), std::move(value.type));
    GraphValue& moved = kept[ids[i]];
    moved.declared = std::move(value.declared);
    moved.constant = std::move(value.constant);
    moved.known_dims = std::move(value.known_dims);
  }
  graph.values = std::vector<GraphValue>();
  const auto rename = [&](std::span<ValueId> list) {
    for (ValueId& id : list) {
      if (id != no_value) id = ids[static_cast<std::size_t>(id)];
    }
  };
  kept.inputs = std::move(graph.inputs);
  kept.outputs = std::move(graph.outputs);
  rename(kept.inputs);
  rename(kept.outputs);
  kept.nodes.reserve(graph.nodes.size());
  for (Node& node : graph.nodes) {
    for_each_list(node, rename);
    kept.nodes.push_back(std::move(node));
  }
  return kept;
}

void drop_unread_constants(Graph& graph) {
  const std::vector<bool> read = read_flags(graph);
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (!read[i]) graph.values[i].constant = {};
  }
}

void insert_nodes(Graph& graph, std::vector<Insertion> insertions) {
  if (insertions.empty()) return;
  std::vector<Node> nodes;
  std::size_t next = 0;
  const auto keep_until = [&](std::size_t end) {
    for (; next < end; ++next) nodes.push_back(std::move(graph.nodes[next]));
  };
  for (Insertion& insertion : insertions) {
    keep_until(insertion.position);
    std::ranges::move(insertion.nodes, std::back_inserter(nodes));
  }
  keep_until(graph.nodes.size());
  graph.nodes = std::move(nodes);
}

}  // namespace ondine::graph
