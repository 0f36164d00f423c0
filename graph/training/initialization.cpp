#include "graph/training/initialization.h"

#include "graph/ir/walk.h"
#include "graph/training/combine.h"

namespace ondine::graph {
namespace {

void add_variables(const GraphDef& owner, const std::set<std::string_view>& read,
                   const std::set<std::string, std::less<>>& state, InitializationGraph& out) {
  const auto wanted = [&](const std::string& name) {
    return read.contains(name) && state.contains(name) && out.variables.insert(name).second;
  };
  for (const InitializerDef& one : owner.initializers) {
    if (wanted(one.name)) out.graph.initializers.push_back(one);
  }
  for (const SparseTensorDef& one : owner.sparse_initializers) {
    if (wanted(one.name)) out.graph.sparse_initializers.push_back(one);
  }
}

}  // namespace

std::set<std::string_view> free_names(const GraphDef& graph) {
  std::set<std::string_view> names;
  for_each_graph(graph, [&](const GraphDef& each) {
    for (const auto& node : each.nodes) names.insert(node.inputs.begin(), node.inputs.end());
    for (const auto& output : each.outputs) names.insert(output.name);
  });
  for_each_node(graph.nodes, [&](const NodeDef& node) {
    for (const auto& output : node.outputs) names.erase(output);
  });
  for (const auto& input : graph.inputs) names.erase(input.name);
  for (const auto& one : graph.initializers) names.erase(one.name);
  for (const auto& one : graph.sparse_initializers) names.erase(one.name);
  return names;
}

InitializationGraph initialization_graph(const ModelDef& model, std::size_t index) {
  InitializationGraph out{*model.training[index].initialization, {}};
  const std::set<std::string_view> read = free_names(*model.training[index].initialization);
  if (read.empty()) return out;
  const auto state = state_variables(model);
  add_variables(model.graph, read, state, out);
  for (const TrainingInfoDef& info : model.training) {
    if (info.algorithm) add_variables(*info.algorithm, read, state, out);
  }
  return out;
}

}  // namespace ondine::graph
