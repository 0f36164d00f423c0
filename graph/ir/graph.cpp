#include "graph/ir/graph.h"

#include <algorithm>

#include "core/message.h"
#include "graph/contract/op_def.h"

namespace ondine::graph {

ONDINE_DEFINE_SPECIAL_MEMBERS(Node);
ONDINE_DEFINE_SPECIAL_MEMBERS(Graph);

Dim Symbols::get(std::string_view name) {
  const auto index =
      static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  if (index == names.size()) names.emplace_back(name);
  return Dim::symbolic(static_cast<std::uint32_t>(index));
}

std::size_t Subgraph::formal_inputs() const { return graph->inputs.size() - captures.size(); }

AllInputs::AllInputs(const std::vector<ValueId>& inputs, const BoxedList<Subgraph>& subgraphs)
    : ids_(inputs) {
  if (subgraphs.empty()) return;
  joined_ = inputs;
  for (const Subgraph& subgraph : subgraphs) {
    joined_.insert(joined_.end(), subgraph.captures.begin(), subgraph.captures.end());
  }
  ids_ = joined_;
}

ValueId Graph::add_value(std::string value_name, Type type) {
  const auto id = static_cast<ValueId>(values.size());
  values.push_back({std::move(value_name), std::move(type), {}, {}, {}});
  by_name_.add_last(values);
  return id;
}

ValueId Graph::add_temporary(const std::string& hint, Type type) {
  std::string fresh = hint;
  while (find(fresh) != no_value) fresh = cat(hint, "_", ++temporaries_);
  return add_value(std::move(fresh), std::move(type));
}

ValueId Graph::find(std::string_view value_name) const noexcept {
  return by_name_.find(values, value_name);
}

std::string describe(const Node& node, const Graph& graph) {
  if (node.origin) return cat(node.op->name, " of ", *node.origin);
  std::string label = node.name;
  for (const auto output : node.outputs) {
    if (label.empty() && output != no_value) label = graph[output].name;
  }
  return cat("node ", quoted(label), " (", node.op->name, "-", node.version, ")");
}

}  // namespace ondine::graph
