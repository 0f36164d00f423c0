#include "graph/training/prepare/names.h"

#include <algorithm>

#include "core/stop.h"
namespace ondine::graph {

std::vector<std::shared_ptr<const GraphDef>> subgraphs_of(const NodeDef& node) {
  std::vector<std::shared_ptr<const GraphDef>> result;
  for (const Attribute& attribute : node.attributes) {
    if (const auto* one = std::get_if<std::shared_ptr<const GraphDef>>(&attribute.data)) {
      result.push_back(*one);
    } else if (const auto* many =
                   std::get_if<std::vector<std::shared_ptr<const GraphDef>>>(&attribute.data)) {
      result.insert(result.end(), many->begin(), many->end());
    }
  }
  return result;
}

bool one_of(std::string_view text, std::initializer_list<std::string_view> list) noexcept {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool is_standard(const NodeDef& node, std::string_view op) noexcept {
  return node.domain.empty() && node.op == op;
}

bool is_normalization(const NodeDef& node) noexcept {
  return node.domain.empty() && one_of(node.op, {"BatchNormalization", "GroupNormalization",
                                                 "InstanceNormalization", "LayerNormalization"});
}

std::set<std::string> captured_names(const GraphDef& graph) {
  std::set<std::string> own;
  for (const ValueDef& input : graph.inputs) own.insert(input.name);
  for (const InitializerDef& initializer : graph.initializers) own.insert(initializer.name);
  for (const SparseTensorDef& initializer : graph.sparse_initializers) own.insert(initializer.name);
  for (const NodeDef& node : graph.nodes) own.insert(node.outputs.begin(), node.outputs.end());
  std::set<std::string> result;
  const auto read = [&](const std::string& name) {
    if (!name.empty() && own.find(name) == own.end()) result.insert(name);
  };
  for (const NodeDef& node : graph.nodes) {
    for (const std::string& name : reads_of(node)) read(name);
  }
  for (const ValueDef& output : graph.outputs) read(output.name);
  return result;
}

std::vector<std::string> reads_of(const NodeDef& node) {
  checkpoint(64);  // every walk over a graph comes by here
  std::vector<std::string> result;
  for (const std::string& input : node.inputs) {
    if (!input.empty()) result.push_back(input);
  }
  for (const auto& subgraph : subgraphs_of(node)) {
    const std::set<std::string> names = captured_names(*subgraph);
    result.insert(result.end(), names.begin(), names.end());
  }
  return result;
}

std::set<std::string> reads_of(const GraphDef& graph) {
  std::set<std::string> result;
  for (const NodeDef& node : graph.nodes) {
    for (std::string& name : reads_of(node)) result.insert(std::move(name));
  }
  for (const ValueDef& output : graph.outputs) result.insert(output.name);
  return result;
}

Names::Names(const ModelDef& model) {
  collect(model.graph);
  for (const TrainingInfoDef& info : model.training) {
    if (info.initialization) collect(*info.initialization);
    if (info.algorithm) collect(*info.algorithm);
  }
}

void Names::collect(const GraphDef& graph) {
  for (const ValueDef& value : graph.inputs) names_.insert(value.name);
  for (const ValueDef& value : graph.outputs) names_.insert(value.name);
  for (const ValueDef& value : graph.value_infos) names_.insert(value.name);
  for (const InitializerDef& initializer : graph.initializers) names_.insert(initializer.name);
  for (const SparseTensorDef& initializer : graph.sparse_initializers) {
    names_.insert(initializer.name);
  }
  for (const NodeDef& node : graph.nodes) {
    names_.insert(node.name);
    names_.insert(node.inputs.begin(), node.inputs.end());
    names_.insert(node.outputs.begin(), node.outputs.end());
    for (const auto& subgraph : subgraphs_of(node)) collect(*subgraph);
  }
}

std::string Names::fresh(const std::string& hint) {
  if (names_.insert(hint).second) return hint;
  std::string name;
  std::size_t& number = used_[hint];
  do {
    name = hint + "_" + std::to_string(++number);
  } while (!names_.insert(name).second);
  return name;
}

}  // namespace ondine::graph
