#include "graph/ir/graph.h"

#include <algorithm>

#include "core/message.h"
#include "graph/contract/op_def.h"

namespace ondine::graph {

Dim Symbols::get(std::string_view name) {
  const auto index =
      static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  if (index == names.size()) names.emplace_back(name);
  return Dim::symbolic(static_cast<std::uint32_t>(index));
}

std::size_t Subgraph::formal_inputs() const { return graph->inputs.size() - captures.size(); }

std::vector<ValueId> Node::all_inputs() const {
  std::vector<ValueId> all = inputs;
  for (const auto& subgraph : subgraphs) {
    all.insert(all.end(), subgraph.captures.begin(), subgraph.captures.end());
  }
  return all;
}

ValueId Graph::add_value(std::string value_name, Type type) {
  const auto id = static_cast<ValueId>(values.size());
  by_name_.emplace(value_name, id);
  values.push_back({std::move(value_name), std::move(type), {}, {}, {}});
  return id;
}

ValueId Graph::add_temporary(const std::string& hint, Type type) {
  std::string fresh = hint;
  while (by_name_.contains(fresh)) fresh = cat(hint, "_", ++temporaries_);
  return add_value(std::move(fresh), std::move(type));
}

ValueId Graph::find(std::string_view value_name) const noexcept {
  const auto found = by_name_.find(value_name);
  return found == by_name_.end() ? no_value : found->second;
}

std::string describe(const Node& node, const Graph& graph) {
  std::string label = node.name;
  for (const auto output : node.outputs) {
    if (label.empty() && output != no_value) label = graph[output].name;
  }
  return cat("node ", quoted(label), " (", node.op->name, "-", node.version, ")");
}

}  // namespace ondine::graph
