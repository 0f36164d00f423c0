#include "graph/training/evaluation_model.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "graph/contract/opsets.h"
#include "graph/record/training_entries.h"
#include "graph/training/combine.h"
#include "graph/training/evaluation_mode.h"
#include "graph/training/needed.h"
#include "graph/training/nodes_within.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {
namespace {

using Strings = std::set<std::string, std::less<>>;

std::int64_t opset_of(const std::vector<OpsetImport>& opsets, std::int64_t otherwise) {
  return Opsets(opsets).version("").value_or(otherwise);
}

bool trains(const NodeDef& node) {
  return node.domain == training_domain &&
         one_of(node.op, {"Gradient", "Adagrad", "Adam", "Momentum"});
}

// Values that depend on a Gradient or an optimizer. Nodes are in topological order.
Strings trained_values(const ModelDef& model, const GraphDef& graph) {
  NodesWithin training(model, trains);
  Strings result;
  for (const NodeDef& node : graph.nodes) {
    const std::vector<std::string> reads = reads_of(node);
    const bool depends = training.contains(node) ||
                         std::any_of(reads.begin(), reads.end(), [&](const std::string& name) {
                           return result.contains(name);
                         });
    if (depends) result.insert(node.outputs.begin(), node.outputs.end());
  }
  result.erase("");
  return result;
}

// Values that a step reads in the place of parameters become these (docs/optimizers.md).
void evaluate_at_parameters(const ModelDef& model, GraphDef& graph) {
  Strings points;
  for (const auto& [name, text] : model.metadata) {
    if (name != entry::points) continue;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) points.insert(line);
  }
  if (points.empty()) return;
  for (NodeDef& node : graph.nodes) {
    if (!is_standard(node, "Add") || node.inputs.size() != 2 || node.outputs.size() != 1 ||
        !points.contains(node.outputs[0])) {
      continue;
    }
    node.op = "Identity";
    node.inputs.resize(1);
  }
}

}  // namespace

EvaluationModel evaluation_model(const ModelDef& model, std::size_t algorithm) {
  EvaluationModel result;
  result.model = model;
  result.model.training.clear();
  GraphDef& graph = result.model.graph;
  graph = combine(model, algorithm);
  evaluate_at_parameters(model, graph);

  const TrainingInfoDef& info = model.training[algorithm];
  const Strings trained = trained_values(model, graph);
  std::erase_if(graph.outputs, [&](const ValueDef& one) { return trained.contains(one.name); });
  for (const ValueDef& one : (info.algorithm ? *info.algorithm : model.graph).outputs) {
    const bool bound = std::any_of(info.update_binding.begin(), info.update_binding.end(),
                                   [&](const auto& binding) { return binding.second == one.name; });
    if (!bound && !trained.contains(one.name)) result.default_outputs.push_back(one.name);
  }

  const std::int64_t opset = opset_of(model.opsets, 1);
  set_evaluation_mode(graph.nodes, opset);
  for (FunctionDef& function : result.model.functions) {
    set_evaluation_mode(function.nodes, opset_of(function.opsets, opset));
  }
  keep_needed(result);
  return result;
}

void keep_needed(EvaluationModel& evaluation) {
  GraphDef& graph = evaluation.model.graph;
  const Strings needed = remove_unneeded_nodes(graph);
  const auto unneeded = [&](const auto& one) { return !needed.contains(one.name); };
  std::erase_if(graph.initializers, unneeded);
  std::erase_if(graph.sparse_initializers, unneeded);
  std::erase_if(graph.inputs, [&](const ValueDef& input) {
    if (needed.contains(input.name)) return false;
    evaluation.unread_inputs.push_back(input.name);
    return true;
  });
}

}  // namespace ondine::graph
