#include "graph/training/prepare_paths.h"

#include <algorithm>

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

Strings single_elements(const GraphDef& graph) {
  Strings names;
  for (const InitializerDef& one : graph.initializers) {
    if (one.value.size() == 1) names.insert(one.name);
  }
  return names;
}

bool is_constant(const Strings& single, const NodeDef& node, std::size_t input) {
  if (!node.domain.empty()) return false;
  if (one_of(node.op, {"RNN", "GRU"})) return input == 5;
  if (node.op == "LSTM") return input == 5 || input == 6;
  return one_of(node.op, {"Mul", "Div", "Pow"}) && single.contains(node.inputs[input]);
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
    for (const auto& body : bodies_of(*node)) {
      const std::set<std::string> names = captured_names(*body);
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
  const Strings single = single_elements(graph);
  return reached(graph, output, [&](const NodeDef& node, std::size_t input) {
    return is_constant(single, node, input);
  });
}

}  // namespace ondine::graph
