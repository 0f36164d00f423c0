#include "graph/training/combine.h"

namespace ondine::graph {
namespace {

void append_ports(GraphDef& to, const GraphDef& from) {
  append(to.inputs, from.inputs);
  append(to.initializers, from.initializers);
  append(to.sparse_initializers, from.sparse_initializers);
  append(to.outputs, from.outputs);
}

}  // namespace

std::vector<const GraphDef*> step_parts(const ModelDef& model, std::size_t index) {
  std::vector<const GraphDef*> parts{&model.graph};
  const auto& algorithm = model.training[index].algorithm;
  if (algorithm) parts.push_back(&*algorithm);
  return parts;
}

GraphDef combine(const ModelDef& model, std::size_t index) {
  GraphDef combined = model.graph;
  const auto& algorithm = model.training[index].algorithm;
  if (!algorithm) return combined;
  append_ports(combined, *algorithm);
  append(combined.nodes, algorithm->nodes);
  append(combined.value_infos, algorithm->value_infos);
  append(combined.quantization, algorithm->quantization);
  return combined;
}

GraphDef combine_ports(const ModelDef& model, std::size_t index) {
  GraphDef ports;
  append_ports(ports, model.graph);
  const auto& algorithm = model.training[index].algorithm;
  if (algorithm) append_ports(ports, *algorithm);
  return ports;
}

std::set<std::string, std::less<>> state_variables(const ModelDef& model) {
  std::set<std::string, std::less<>> names;
  for (const TrainingInfoDef& info : model.training) {
    for (const auto* binding : {&info.initialization_binding, &info.update_binding}) {
      for (const auto& [variable, output] : *binding) names.insert(variable);
    }
  }
  return names;
}

}  // namespace ondine::graph
