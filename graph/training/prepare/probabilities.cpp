#include <algorithm>

#include "graph/training/prepare/logits.h"
#include "graph/training/prepare/parameters.h"
#include "graph/training/prepare/paths.h"
#include "graph/training/prepare/uses.h"

namespace ondine::graph {
namespace {

// Operators whose result is made of elements of their first input, or of means of them.
bool keeps_probabilities(const NodeDef& node) {
  return keeps_elements(node) ||
         one_of(node.op, {"AveragePool",    "Clip",         "DepthToSpace",
                          "Dropout",        "Expand",       "Gather",
                          "GatherElements", "GatherND",     "GlobalAveragePool",
                          "GlobalMaxPool",  "MaxPool",      "ReduceMax",
                          "ReduceMean",     "ReduceMin",    "Resize",
                          "Slice",          "SpaceToDepth", "Split",
                          "Tile",           "TopK",         "Upsample"});
}

// Operators that give probabilities of probabilities and constants alone.
bool combines_probabilities(const NodeDef& node) {
  return one_of(node.op, {"Add", "Concat", "Div", "Log", "Max", "Mean", "Min", "Mul", "Pow", "Sub",
                          "Sum", "Where"});
}

class Probabilities {
 public:
  explicit Probabilities(const GraphDef& graph) : producers_(producers_of(graph)) {
    for (const InitializerDef& one : graph.initializers) constants_.insert(one.name);
    for (const NodeDef& node : graph.nodes) {
      const auto is_known = [&](const std::string& input) { return constants_.contains(input); };
      if (std::all_of(node.inputs.begin(), node.inputs.end(), is_known) &&
          subgraphs_of(node).empty()) {
        constants_.insert(node.outputs.begin(), node.outputs.end());
      }
    }
  }

  const NodeDef* source(const std::string& value) {
    const auto [known, fresh] = known_.try_emplace(value, nullptr);
    if (!fresh) return known->second;
    const auto found = producers_.find(value);
    if (found == producers_.end() || depth_ == max_depth) return nullptr;
    ++depth_;
    const NodeDef* result = source_of(*found->second, value);
    --depth_;
    return known_[value] = result;
  }

 private:
  static constexpr int max_depth = 500;

  const NodeDef* source_of(const NodeDef& node, const std::string& value) {
    if (node.domain == "ai.onnx.ml") {
      if (node.op == "Normalizer") return &node;
      return node.op == "ZipMap" ? source(node.inputs.at(0)) : nullptr;
    }
    if (!node.domain.empty()) return nullptr;
    if (one_of(node.op, {"Softmax", "LogSoftmax", "Sigmoid", "HardSigmoid"})) return &node;
    if (is_normalization(node)) return &node;
    if (node.op == "If") return of_branch(node, value);
    if (keeps_probabilities(node)) return source(node.inputs.at(0));
    if (!combines_probabilities(node)) return nullptr;
    const NodeDef* result = nullptr;
    for (std::size_t i = node.op == "Where" ? 1 : 0; i < node.inputs.size(); ++i) {
      if (constants_.contains(node.inputs[i])) continue;
      const NodeDef* one = source(node.inputs[i]);
      if (one == nullptr && node.op == "Concat") continue;  // probabilities in part
      if (one == nullptr) return nullptr;
      if (result == nullptr) result = one;
    }
    return result;
  }

  // Over its own sum.
  bool is_normalization(const NodeDef& node) const {
    if (node.op != "Div" || node.inputs.size() != 2) return false;
    auto divisor = producers_.find(node.inputs[1]);
    while (divisor != producers_.end() &&
           (keeps_elements(*divisor->second) || divisor->second->op == "Expand")) {
      divisor = producers_.find(divisor->second->inputs[0]);
    }
    return divisor != producers_.end() && divisor->second->op == "ReduceSum" &&
           divisor->second->inputs.at(0) == node.inputs[0];
  }

  static const NodeDef* of_branch(const NodeDef& node, const std::string& value) {
    const auto position = std::find(node.outputs.begin(), node.outputs.end(), value);
    const auto index = static_cast<std::size_t>(position - node.outputs.begin());
    for (const auto& subgraph : subgraphs_of(node)) {
      if (index >= subgraph->outputs.size()) continue;
      Probabilities inner(*subgraph);
      if (const NodeDef* found = inner.source(subgraph->outputs[index].name)) return found;
    }
    return nullptr;
  }

  Producers producers_;
  Strings constants_;
  int depth_ = 0;
  std::map<std::string, const NodeDef*, std::less<>> known_;
};

}  // namespace

std::string probability_source(const GraphDef& graph, const std::string& value) {
  const NodeDef* found = Probabilities(graph).source(value);
  return found == nullptr ? std::string() : named_operator(*found);
}

bool is_log_probability(const GraphDef& graph, const std::string& value) {
  const Producers producers = producers_of(graph);
  auto found = producers.find(value);
  while (found != producers.end() && keeps_elements(*found->second)) {
    found = producers.find(found->second->inputs[0]);
  }
  if (found == producers.end() || !found->second->domain.empty()) return false;
  const NodeDef& node = *found->second;
  if (node.op == "LogSoftmax" || node.op == "Log") return true;
  if (node.op != "Sub" || node.inputs.size() != 2) return false;
  const auto subtracted = producers.find(node.inputs[1]);
  return subtracted != producers.end() &&
         one_of(subtracted->second->op, {"Log", "ReduceLogSumExp"});
}

}  // namespace ondine::graph
