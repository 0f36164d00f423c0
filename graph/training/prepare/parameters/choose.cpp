#include "graph/training/prepare/parameters/choose.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "graph/training/prepare/parameters/constants.h"
#include "graph/training/prepare/parameters/held.h"
#include "graph/training/prepare/parameters/operands.h"
#include "graph/training/prepare/parameters/paths.h"

namespace ondine::graph {
namespace {

void add_statistics(const GraphDef& graph, Strings& found) {
  for (const NodeDef& node : graph.nodes) {
    if (is_standard(node, "BatchNormalization") && node.inputs.size() > 4) {
      found.insert(node.inputs.begin() + 3, node.inputs.begin() + 5);
    }
  }
}

// Whether nodes may hold tensors: Constant nodes, and those with subgraphs.
bool may_hold_tensors(const GraphDef& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const NodeDef& node) {
    return node.op == "Constant" || !subgraphs_of(node).empty();
  });
}

// Which tensors of Constant nodes and subgraphs may be parameters.
class HeldChoice {
 public:
  HeldChoice(const ModelDef& model, const Strings& read, const PrepareOptions& options)
      : named_(options.train.begin(), options.train.end()),
        producer_name_(model.producer_name),
        live_(differentiable_values(model.graph, read)),
        operands_(model.graph) {
    if (options.training_mode) add_statistics(model.graph, statistics_);
  }

  bool operator()(const std::string& name, const Tensor& held) const {
    if (statistics_.contains(name)) return true;
    if (!live_.contains(name)) return false;
    if (held.size() != 1 || named_.contains(name)) return true;
    const LayerUse use = operands_.of(name, held);
    if (use == LayerUse::operand) return true;
    // Code has its numbers in Constant nodes.
    return !held.shape().empty() && (use == LayerUse::term || !operands_.is_number(name) ||
                                     is_parameter_name(name, producer_name_));
  }
  bool is_statistic(const std::string& name) const { return statistics_.contains(name); }

 private:
  Strings named_;
  std::string producer_name_;
  Strings live_;
  Strings statistics_;
  Operands operands_;
};

}  // namespace

ParameterChoice choose_and_lift(ModelDef& model, GraphDef& lifted, Names& names,
                                const Strings& read, const PrepareOptions& options) {
  if (!may_hold_tensors(model.graph)) {
    return choose_parameters(model.graph, read, options, model.producer_name);
  }
  const HeldChoice may_lift(model, read, options);
  HeldWeights held = find_held_weights(model.graph, names, may_lift);
  if (held.empty()) return choose_parameters(model.graph, read, options, model.producer_name);
  lifted = model.graph;
  lift_weights(lifted, held);
  ParameterChoice choice = choose_parameters(lifted, read, options, model.producer_name);
  std::erase_if(held, [&](const auto& one) {
    return !choice.trains(one.second) && !may_lift.is_statistic(one.second);
  });
  lift_weights(model.graph, held);
  std::unordered_map<std::string_view, const InitializerDef*> initializers;
  for (const InitializerDef& one : model.graph.initializers) initializers.emplace(one.name, &one);
  for (const InitializerDef*& one : choice.trained) one = initializers.at(one->name);
  return choice;
}

}  // namespace ondine::graph
