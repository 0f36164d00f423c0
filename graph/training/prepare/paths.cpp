#include "graph/training/prepare/paths.h"

#include <algorithm>
#include <cstddef>

#include "core/message.h"
#include "graph/training/prepare/contrib_roles.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/uses.h"

namespace ondine::graph {
namespace {

// Inputs beyond the first (BatchNormalization: first three) that only steer the operator.
bool is_setting(const NodeDef& node, std::size_t input) {
  if (!node.domain.empty()) return false;
  if (node.op == "BatchNormalization") return input >= 3;
  if (one_of(node.op, {"If", "Where", "Loop"})) return input == 0;
  if (one_of(node.op, {"ScatterElements", "ScatterND", "Scatter", "MaxUnpool"})) return input == 1;
  return input >= 1 && one_of(node.op, {"Clip",
                                        "Pad",
                                        "Dropout",
                                        "Resize",
                                        "Upsample",
                                        "Expand",
                                        "Reshape",
                                        "Tile",
                                        "OneHot",
                                        "Slice",
                                        "Gather",
                                        "GatherND",
                                        "GatherElements",
                                        "Squeeze",
                                        "Unsqueeze",
                                        "Split",
                                        "TopK",
                                        "CumSum",
                                        "Trilu",
                                        "Compress",
                                        "ReduceSum",
                                        "ReduceMax",
                                        "ReduceMean",
                                        "ReduceMin",
                                        "ReduceProd",
                                        "ReduceL1",
                                        "ReduceL2",
                                        "ReduceLogSum",
                                        "CenterCropPad",
                                        "QuantizeLinear",
                                        "ReduceLogSumExp",
                                        "ReduceSumSquare"});
}

bool casts_to_other_types(const NodeDef& node) {
  if (node.op != "Cast") return false;
  const Attribute* attribute = find(node.attributes, "to");
  const auto* to = attribute == nullptr ? nullptr : std::get_if<std::int64_t>(&attribute->data);
  return to != nullptr && !is_differentiable(static_cast<DType>(*to));
}

bool stops_derivatives(const NodeDef& node) {
  return node.domain.empty() && (casts_to_other_types(node) || one_of(node.op, {"Shape",
                                                                                "Size",
                                                                                "Range",
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
                                                                                "Bernoulli"}));
}

struct Constants {
  // Of the graph, without initializer, and what is only moved, resized or scaled of these.
  Strings inputs;
  Strings all;     // initializers
  Strings single;  // initializers of one element
  Strings zeros;   // initializers of zeros, and what is cut and spread from these alone
};

bool holds_zeros(const Tensor& tensor) {
  const auto* bytes = static_cast<const unsigned char*>(tensor.data());
  return std::all_of(bytes, bytes + tensor.bytes(), [](unsigned char one) { return one == 0; });
}

// Raw data on its way to a model's first layer.
bool keeps_data(const Constants& constants, const NodeDef& node) {
  if (!node.domain.empty() || node.inputs.empty() || !constants.inputs.contains(node.inputs[0])) {
    return false;
  }
  if (one_of(node.op, {"Cast", "Transpose", "Resize"})) return true;
  return one_of(node.op, {"Mul", "Div"}) && constants.single.contains(node.inputs[1]);
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
  for (const NodeDef& node : graph.nodes) {
    if (keeps_data(found, node)) found.inputs.insert(node.outputs.begin(), node.outputs.end());
  }
  return found;
}

// How a node uses the input as a constant; "" if it does not.
std::string constant_role(const Constants& constants, const Strings& parameters,
                          const NodeDef& node, std::size_t input) {
  if (!node.domain.empty()) return contrib_role(node, input);
  const std::string& name = node.inputs[input];
  if (one_of(node.op, {"RNN", "GRU", "LSTM"})) {
    const bool start = (input == 5 || input == 6) && constants.zeros.contains(name);
    return start ? "zeros that " + node.op + " starts from" : std::string();
  }
  if (node.op == "DequantizeLinear") return input == 1 ? "scale of DequantizeLinear" : "";
  if (node.op == "RotaryEmbedding") return input == 0 ? "" : "table of rotations";
  // (x - mean) / deviation of an input.
  if (node.op == "Div" && input == 1 && constants.all.contains(name)) return "divisor";
  if (node.op == "Sub") {
    const bool centres = input == 1 && constants.inputs.contains(node.inputs[0]);
    return centres ? "taken off the input " + quoted(node.inputs[0]) : std::string();
  }
  if (!constants.single.contains(name) || parameters.contains(name)) return {};
  if (one_of(node.op, {"Where", "Max", "Min"})) return "one element beside others in " + node.op;
  if (!one_of(node.op, {"Mul", "Div", "Pow"})) return {};
  return node.op == "Pow" ? "exponent of one element" : "factor of one element";
}

template <class Stops>
void reach(const GraphDef& graph, Strings& values, Stops&& stops) {
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool wanted = std::any_of(
        node->outputs.begin(), node->outputs.end(),
        [&](const std::string& name) { return !name.empty() && values.contains(name); });
    if (!wanted || stops_derivatives(*node)) continue;
    for (std::size_t i = 0; i < node->inputs.size(); ++i) {
      if (node->inputs[i].empty() || is_setting(*node, i) || stops(*node, i)) continue;
      values.insert(node->inputs[i]);
    }
    for (const auto& subgraph : subgraphs_of(*node)) {
      for (const ValueDef& output : subgraph->outputs) values.insert(output.name);
      reach(*subgraph, values, stops);
    }
  }
}

}  // namespace

bool makes_products(std::string_view op) noexcept {
  return one_of(op, {"MatMul", "Conv", "Gemm", "ConvTranspose", "Einsum"});
}

Strings differentiable_values(const GraphDef& graph, const Strings& outputs) {
  Strings values = outputs;
  reach(graph, values, [](const NodeDef&, std::size_t) { return false; });
  return values;
}

WeightValues weight_values(const GraphDef& graph, const Strings& outputs,
                           const Strings& parameters) {
  const Constants constants = find_constants(graph);
  WeightValues found;
  found.values = outputs;
  reach(graph, found.values, [&](const NodeDef& node, std::size_t input) {
    std::string role = constant_role(constants, parameters, node, input);
    if (role.empty()) return false;
    found.roles.emplace(node.inputs[input], std::move(role));
    return true;
  });
  return found;
}

}  // namespace ondine::graph
