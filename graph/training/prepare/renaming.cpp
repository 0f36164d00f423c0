#include "graph/training/prepare/renaming.h"

#include <algorithm>
#include <set>

namespace ondine::graph {
namespace {

GraphDef rename_captures(GraphDef subgraph, const Renaming& names) {
  for (NodeDef& node : subgraph.nodes) rename_reads(node, names);
  for (ValueDef& output : subgraph.outputs) output.name = renamed(names, output.name);
  return subgraph;
}

void rename_subgraph(std::shared_ptr<const GraphDef>& subgraph, const Renaming& names) {
  Renaming captured;
  for (const std::string& name : captured_names(*subgraph)) {
    if (const auto found = names.find(name); found != names.end()) captured.insert(*found);
  }
  if (captured.empty()) return;
  subgraph = std::make_shared<const GraphDef>(rename_captures(*subgraph, captured));
}

}  // namespace

const std::string& renamed(const Renaming& names, const std::string& name) {
  const auto found = names.find(name);
  return found == names.end() ? name : found->second;
}

void rename_reads(NodeDef& node, const Renaming& names) {
  for (std::string& input : node.inputs) input = renamed(names, input);
  for (Attribute& attribute : node.attributes) {
    if (auto* one = std::get_if<std::shared_ptr<const GraphDef>>(&attribute.data)) {
      rename_subgraph(*one, names);
    }
    if (auto* many = std::get_if<std::vector<std::shared_ptr<const GraphDef>>>(&attribute.data)) {
      for (auto& subgraph : *many) rename_subgraph(subgraph, names);
    }
  }
}

NodeDef renamed_copy(const NodeDef& node, const std::string& prefix, Names& fresh,
                     Renaming& names) {
  NodeDef copy = node;
  if (!copy.name.empty()) copy.name = fresh.fresh(prefix + copy.name);
  rename_reads(copy, names);
  for (std::string& output : copy.outputs) {
    if (output.empty()) continue;
    const std::string name = fresh.fresh(prefix + output);
    names[output] = name;
    output = name;
  }
  return copy;
}

}  // namespace ondine::graph
