#include "graph/training/prepare_paths.h"

#include <algorithm>
#include <cstddef>

#include "graph/training/prepare_names.h"

namespace ondine::graph {
namespace {

// Inputs beyond the first (BatchNormalization: first three) that only steer the operator.
bool is_setting(const NodeDef& node, std::size_t input) {
  if (!node.domain.empty()) return false;
  if (node.op == "BatchNormalization") return input >= 3;
  return input >= 1 && one_of(node.op, {"Clip", "Pad", "Dropout", "Resize", "Upsample", "Expand",
                                        "Reshape", "Tile", "OneHot", "QuantizeLinear"});
}

bool stops_derivatives(const NodeDef& node) {
  return node.domain.empty() && one_of(node.op, {"Shape",
                                                 "Size",
                                                 "ArgMax",
                                                 "ArgMin",
                                                 "Greater",
                                                 "Less",
                                                 "Equal",
                                                 "GreaterOrEqual",
                                                 "LessOrEqual",
                                                 "Not",
                                                 "NonZero",
                                                 "Floor",
                                                 "Round",
                                                 "Ceil",
                                                 "Sign",
                                                 "IsNaN",
                                                 "IsInf",
                                                 "OneHot",
                                                 "EyeLike",
                                                 "ConstantOfShape",
                                                 "RandomNormalLike",
                                                 "RandomUniformLike",
                                                 "Multinomial",
                                                 "Bernoulli"});
}

struct Constants {
  Strings inputs;  // of the graph, without initializer
  Strings all;     // initializers
  Strings single;  // initializers of one element
  Strings zeros;   // initializers of zeros, and what is cut and spread from these alone
};

bool holds_zeros(const Tensor& tensor) {
  const auto* bytes = static_cast<const unsigned char*>(tensor.data());
  return std::all_of(bytes, bytes + tensor.bytes(), [](unsigned char one) { return one == 0; });
}

Constants find_constants(const GraphDef& graph) {
  Constants found;
  for (const ValueDef& one : graph.inputs) found.inputs.insert(one.name);
  for (const InitializerDef& one : graph.initializers) {
    found.inputs.erase(one.name);
    if (!is_differentiable(one.value.dtype())) continue;
    found.all.insert(one.name);
    if (one.value.size() == 1) found.single.insert(one.name);
    if (holds_zeros(one.value)) found.zeros.insert(one.name);
  }
  for (const NodeDef& node : graph.nodes) {
    if (!node.domain.empty() || node.inputs.empty() || !found.zeros.contains(node.inputs[0]) ||
        !one_of(node.op, {"Cast", "Expand", "Gather", "Identity", "Reshape", "Slice", "Split",
                          "Squeeze", "Tile", "Transpose", "Unsqueeze"})) {
      continue;
    }
    found.zeros.insert(node.outputs.begin(), node.outputs.end());
  }
  return found;
}

bool is_constant(const Constants& constants, const NodeDef& node, std::size_t input) {
  if (!node.domain.empty()) return false;
  const std::string& name = node.inputs[input];
  if (one_of(node.op, {"RNN", "GRU", "LSTM"})) {
    return (input == 5 || input == 6) && constants.zeros.contains(name);
  }
  // (x - mean) / deviation of an input.
  if (node.op == "Div" && input == 1 && constants.all.contains(name)) return true;
  if (node.op == "Sub") return input == 1 && constants.inputs.contains(node.inputs[0]);
  return one_of(node.op, {"Mul", "Div", "Pow"}) && constants.single.contains(name);
}

template <class Stops>
Strings reached(const GraphDef& graph, const std::string& output, Stops&& stops) {
  Strings result{output};
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool wanted =
        std::any_of(node->outputs.begin(), node->outputs.end(),
                    [&](const std::string& name) { return !name.empty() && result.count(name); });
    if (!wanted || stops_derivatives(*node)) continue;
    for (std::size_t i = 0; i < node->inputs.size(); ++i) {
      if (node->inputs[i].empty() || is_setting(*node, i) || stops(*node, i)) continue;
      result.insert(node->inputs[i]);
    }
    for (const auto& subgraph : subgraphs_of(*node)) {
      const std::set<std::string> names = captured_names(*subgraph);
      result.insert(names.begin(), names.end());
    }
  }
  return result;
}

}  // namespace

bool makes_products(std::string_view op) noexcept {
  return one_of(op, {"MatMul", "Conv", "Gemm", "ConvTranspose", "Einsum"});
}

Strings differentiable_values(const GraphDef& graph, const std::string& output) {
  return reached(graph, output, [](const NodeDef&, std::size_t) { return false; });
}

Strings weight_values(const GraphDef& graph, const std::string& output) {
  const Constants constants = find_constants(graph);
  return reached(graph, output, [&](const NodeDef& node, std::size_t input) {
    return is_constant(constants, node, input);
  });
}

}  // namespace ondine::graph
