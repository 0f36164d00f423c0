#include "graph/training/combine.h"

namespace ondine::graph {
namespace {

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

GraphDef combine(const ModelDef& model, std::size_t index) {
  GraphDef combined = model.graph;
  const auto& algorithm = model.training[index].algorithm;
  if (!algorithm) return combined;
  append(combined.inputs, algorithm->inputs);
  append(combined.initializers, algorithm->initializers);
  append(combined.sparse_initializers, algorithm->sparse_initializers);
  append(combined.nodes, algorithm->nodes);
  append(combined.outputs, algorithm->outputs);
  append(combined.value_infos, algorithm->value_infos);
  append(combined.quantization, algorithm->quantization);
  return combined;
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
