#include "graph/training/prepare/parameters/paths.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/message.h"
#include "core/to_doubles.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/contrib_roles.h"
#include "graph/training/prepare/parameters/origin.h"
#include "graph/training/prepare/uses.h"
#include "graph/training/prepare/values.h"

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
  // Inputs of the graph without initializer, and values that are only moved, resized or scaled from
  // these.
  Strings inputs;
  Strings centred;  // of these, a constant is taken off
  Strings all;      // initializers
  Strings single;   // initializers of one element
  Strings zeros;    // initializers of zeros, and what is cut and spread from these alone
  Strings fillers;  // tensors of the elements that masks hold, and what is spread from these
};

bool holds_zeros(const Tensor& tensor) {
  const auto* bytes = static_cast<const unsigned char*>(tensor.data());
  return std::all_of(bytes, bytes + tensor.bytes(), [](unsigned char one) { return one == 0; });
}

// Whether all elements are one number far below those of scores.
bool holds_filler(const Tensor& tensor) {
  constexpr double mask_bound = -1e3;
  return tensor.size() > 0 && is_differentiable(tensor.dtype()) && all_equal(tensor) &&
         element_reader(tensor.dtype())(tensor.data(), 0) <= mask_bound;
}

// Raw data on its way to a model's first layer.
bool keeps_data(const Constants& constants, const NodeDef& node) {
  if (!node.domain.empty() || node.inputs.empty() || !constants.inputs.contains(node.inputs[0])) {
    return false;
  }
  if (one_of(node.op, {"Cast", "Transpose", "Resize"})) return true;
  return one_of(node.op, {"Mul", "Div"}) && constants.single.contains(node.inputs[1]);
}

void note_moves(const NodeDef& node, Strings& values) {
  if (only_moves(node) && !node.inputs.empty() && values.contains(node.inputs[0])) {
    values.insert(node.outputs.begin(), node.outputs.end());
  }
}

void find_spread(const GraphDef& graph, Constants& found) {
  for (const NodeDef& node : graph.nodes) {
    const Attribute* value = node.domain.empty() && node.attributes.size() == 1 &&
                                     one_of(node.op, {"Constant", "ConstantOfShape"})
                                 ? node.attributes.data()
                                 : nullptr;
    const Tensor* tensor = value == nullptr ? nullptr : tensor_of(*value);
    const float* number = value == nullptr ? nullptr : std::get_if<float>(&value->data);
    if ((tensor != nullptr && holds_filler(*tensor)) ||
        (number != nullptr && holds_filler(Tensor::scalar(*number)))) {
      found.fillers.insert(node.outputs.begin(), node.outputs.end());
    }
    note_moves(node, found.zeros);
    note_moves(node, found.fillers);
    if (keeps_data(found, node)) found.inputs.insert(node.outputs.begin(), node.outputs.end());
    if (is_standard(node, "Sub") && node.inputs.size() == 2 &&
        found.inputs.contains(node.inputs[0]) && found.all.contains(node.inputs[1])) {
      found.centred.insert(node.outputs.begin(), node.outputs.end());
    }
    for (const auto& subgraph : subgraphs_of(node)) find_spread(*subgraph, found);
  }
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
    if (holds_filler(one.value)) found.fillers.insert(one.name);
  }
  find_spread(graph, found);
  return found;
}

using KnownRole = std::optional<ConstantRole>;

KnownRole certain_role(std::string text) { return ConstantRole{std::move(text), false}; }

// Names that exporters give to numbers are those of constants.
KnownRole likely_role(std::string text, const std::string& name) {
  return ConstantRole{std::move(text), !is_number_name(name)};
}

KnownRole role_in_where(const Constants& constants, const NodeDef& node, std::size_t input) {
  const bool fills = node.inputs.size() == 3 && input > 0 &&
                     constants.zeros.contains(node.inputs[input]) &&
                     constants.fillers.contains(node.inputs[3 - input]);
  return fills ? certain_role("zeros of a mask, which Where fills") : std::nullopt;
}

// How a node uses the input as a constant.
KnownRole constant_role(const Constants& constants, const Strings& parameters, const NodeDef& node,
                        std::size_t input) {
  if (!node.domain.empty()) {
    std::string role = contrib_role(node, input);
    return role.empty() ? std::nullopt : certain_role(std::move(role));
  }
  const std::string& name = node.inputs[input];
  if (one_of(node.op, {"RNN", "GRU", "LSTM"})) {
    const bool starts = (input == 5 || input == 6) && constants.zeros.contains(name);
    if (!starts || parameters.contains(name)) return std::nullopt;
    return likely_role("zeros that " + node.op + " starts from", name);
  }
  if (node.op == "DequantizeLinear") {
    return input == 1 ? certain_role("scale of DequantizeLinear") : std::nullopt;
  }
  if (node.op == "RotaryEmbedding") {
    return input == 0 ? std::nullopt : certain_role("table of rotations");
  }
  if (node.op == "Sub") {
    const bool centres = input == 1 && constants.inputs.contains(node.inputs[0]);
    return centres ? certain_role("taken off the input " + quoted(node.inputs[0])) : std::nullopt;
  }
  if (node.op == "Where") {
    if (KnownRole role = role_in_where(constants, node, input)) return role;
  }
  if (node.op == "Div" && input == 1 && constants.all.contains(name)) {
    // (x - mean) / deviation of an input.
    const std::string& data = node.inputs[0];
    if (constants.inputs.contains(data) || constants.centred.contains(data)) {
      return certain_role("divisor of an input");
    }
    return parameters.contains(name) ? std::nullopt : likely_role("divisor", name);
  }
  if (!constants.single.contains(name) || parameters.contains(name)) return std::nullopt;
  if (one_of(node.op, {"Where", "Max", "Min"})) {
    return certain_role("one element beside others in " + node.op);
  }
  if (!one_of(node.op, {"Mul", "Div", "Pow"})) return std::nullopt;
  return likely_role(node.op == "Pow" ? "exponent of one element" : "factor of one element", name);
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
    KnownRole role = constant_role(constants, parameters, node, input);
    if (!role) return false;
    ConstantRole& known = found.roles.try_emplace(node.inputs[input], *role).first->second;
    if (known.is_guess && !role->is_guess) known = std::move(*role);
    return true;
  });
  return found;
}

}  // namespace ondine::graph
