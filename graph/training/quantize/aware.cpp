#include "graph/training/quantize/aware.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/message.h"
#include "core/stop.h"
#include "graph/contract/opsets.h"
#include "graph/training/prepare/losses/pieces.h"
#include "graph/training/prepare/parameters/initializers.h"
#include "graph/training/prepare/parameters/paths.h"
#include "graph/training/prepare/uses.h"
#include "graph/training/prepare/values.h"
#include "graph/training/quantize/channels.h"
#include "graph/training/quantize/fold_normalization.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t first_opset_with_axes = 13;
constexpr double signed_levels = 127;
// x86-64 without VNNI adds pairs of products of uint8 and int8 in 16 bits: 2 x 255 x 64 fit.
constexpr double reduced_levels = 64;
constexpr double unsigned_levels = 255;
constexpr double smallest_scale = 0x1p-30;
// Until the first step has seen activations they are taken to lie in +-8, or 0 to 8.
constexpr double initial_range = 8;
// The part of a new batch in the average.
constexpr double momentum = 0.01;

bool keeps_signs(const NodeDef& node) {
  return node.domain.empty() &&
         one_of(node.op, {"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "Flatten",
                          "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Dropout", "Identity"});
}

// The axis of the channels of a layer's weights.
std::int64_t channel_axis(const NodeDef& node) {
  if (node.op == "Conv") return 0;
  return node.op == "Gemm" && integer_attribute(node, "transB", 0) != 0 ? 0 : 1;
}

class Inserter {
 public:
  Inserter(ModelDef& model, QuantizedNetwork& network)
      : graph_(model.graph), network_(network), names_(model) {
    for (const ValueDef& input : graph_.inputs) inputs_.insert(input.name);
    for (std::size_t i = 0; i < graph_.initializers.size(); ++i) {
      index_.emplace(graph_.initializers[i].name, i);
    }
  }

  void run() {
    const std::vector<NodeDef> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    producers_ = producers_of(nodes);
    for (const NodeDef& original : nodes) {
      checkpoint(256);
      NodeDef node = original;
      if (is_layer(node)) {
        const std::string activation = quantized_activation(node.inputs[0]);
        const std::string weight = quantized_weight(node);
        node.inputs[0] = activation;
        node.inputs[1] = weight;
        ++network_.layers;
      }
      graph_.nodes.push_back(std::move(node));
    }
  }

 private:
  // The values of the given network, without the scales that are added.
  const InitializerDef* given(const std::string& name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : &graph_.initializers[found->second];
  }

  // Each value is looked at once.
  bool is_not_negative(const std::string& value) {
    std::vector<std::string> moved;
    std::string name = value;
    std::optional<bool> result;
    while (!result) {
      const auto known = not_negative_.find(name);
      if (known != not_negative_.end()) {
        result = known->second;
        break;
      }
      moved.push_back(name);
      const NodeDef* node = standard_producer(producers_, name);
      if (node != nullptr && keeps_signs(*node)) {
        name = node->inputs[0];
      } else {
        result = node != nullptr && makes_no_negative(*node);
      }
    }
    for (std::string& one : moved) not_negative_.emplace(std::move(one), *result);
    return *result;
  }

  bool makes_no_negative(const NodeDef& node) const {
    if (one_of(node.op, {"Relu", "Sigmoid", "Softmax", "HardSigmoid", "Abs", "Softplus"})) {
      return true;
    }
    if (node.op != "Clip" || node.inputs.size() < 2 || node.inputs[1].empty()) return false;
    const InitializerDef* low = given(node.inputs[1]);
    const NodeDef* held = standard_producer(producers_, node.inputs[1]);
    GraphDef bound;
    if (low != nullptr) bound.initializers = {*low};
    if (held != nullptr) bound.nodes = {*held};
    return constant_number(bound, node.inputs[1]).value_or(-1) >= 0;
  }

  bool is_layer(const NodeDef& node) const {
    if (!node.domain.empty() || !one_of(node.op, {"Conv", "Gemm", "MatMul"})) return false;
    const InitializerDef* weight = given(node.inputs[1]);
    if (weight == nullptr || inputs_.contains(weight->name)) return false;
    if (node.op == "Gemm" && integer_attribute(node, "transA", 0) != 0) return false;
    const std::size_t rank = weight->value.shape().rank();
    return weight->value.dtype() == DType::float32 && (node.op == "Conv" ? rank >= 3 : rank == 2) &&
           given(node.inputs[0]) == nullptr;
  }

  std::string pair(const std::string& value, const std::string& scale, Tensor zero_point,
                   std::optional<std::int64_t> axis) {
    const std::string zero = names_.fresh(value + ".zero_point");
    graph_.initializers.push_back({zero, std::move(zero_point), {}, {}});
    const std::string quantized = names_.fresh(value + ".quantized");
    const std::string result = names_.fresh(value + ".dequantized");
    const auto add = [&](const char* op, const std::string& from, const std::string& to) {
      NodeDef& node = graph_.nodes.emplace_back();
      node.op = op;
      node.inputs = {from, scale, zero};
      node.outputs = {to};
      if (axis) node.attributes = {{"axis", *axis}};
    };
    add("QuantizeLinear", value, quantized);
    add("DequantizeLinear", quantized, result);
    return result;
  }

  std::string quantized_activation(const std::string& value) {
    const auto [entry, added] = done_.try_emplace(value);
    if (!added) return entry->second;
    const bool not_negative = is_not_negative(value);
    const double levels = not_negative ? unsigned_levels : signed_levels;
    const auto initial = static_cast<float>(initial_range / levels);
    const std::string scale = names_.fresh(value + ".scale");
    graph_.initializers.push_back({scale, Tensor::scalar(initial), {}, {}});
    network_.activations.emplace(scale, QuantizedNetwork::Activation{levels, initial});
    entry->second = pair(value, scale, Tensor(not_negative ? DType::uint8 : DType::int8, Shape{}),
                         std::nullopt);
    return entry->second;
  }

  std::string quantized_weight(const NodeDef& node) {
    const std::string name = node.inputs[1];
    const std::int64_t axis = channel_axis(node);
    const auto [entry, added] = done_.try_emplace(name + (axis == 0 ? "/0" : "/1"));
    if (!added) return entry->second;
    const Tensor weight = given(name)->value;
    Tensor scales = weight_scales(weight, static_cast<std::size_t>(axis));
    const Shape shape = scales.shape();
    const std::string scale = names_.fresh(name + ".scale");
    graph_.initializers.push_back({scale, std::move(scales), {}, {}});
    QuantizedNetwork::Weight& record = network_.weights.emplace_back();
    record.weight = name;
    record.scale = scale;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(weight.shape().rank()); ++i) {
      if (i != axis) record.reduced.push_back(i);
    }
    entry->second = pair(name, scale, Tensor(DType::int8, shape), axis);
    return entry->second;
  }

  Tensor weight_scales(const Tensor& weight, std::size_t axis) const {
    Tensor result(DType::float32, Shape{weight.shape()[axis]});
    const auto largest = result.mutable_values<float>();
    const auto values = weight.values<float>();
    for_each_of_channels(weight.shape(), axis, [&](std::size_t i, std::size_t channel) {
      largest[channel] = std::max(largest[channel], std::abs(values[i]));
    });
    for (float& one : largest) {
      one = std::max(one / static_cast<float>(network_.weight_levels),
                     static_cast<float>(smallest_scale));
    }
    return result;
  }

  GraphDef& graph_;
  QuantizedNetwork& network_;
  Names names_;
  Strings inputs_;
  std::unordered_map<std::string, std::size_t> index_;  // of the initializers of the network
  std::unordered_map<std::string, bool> not_negative_;  // of values that were looked at
  Producers producers_;
  std::map<std::string, std::string> done_;
};

// max |x| / levels over the axes, of all elements without any.
std::string fitting_scale(GraphWriter& writer, const std::string& value,
                          const std::vector<std::int64_t>& axes, double levels,
                          const std::string& hint) {
  const std::string magnitude = writer.node("Abs", {value}, hint + ".magnitude");
  const std::string largest =
      axes.empty() ? writer.node("ReduceMax", {magnitude}, hint + ".largest",
                                 {{"keepdims", std::int64_t{0}}})
                   : reduce(writer, "ReduceMax", magnitude, axes, false, hint + ".largest");
  const std::string divisor = writer.scalar(hint + ".levels", levels, DType::float32);
  const std::string scale = writer.node("Div", {largest, divisor}, hint + ".fitting");
  const std::string least = writer.scalar(hint + ".least", smallest_scale, DType::float32);
  return writer.node("Max", {scale, least}, hint + ".bounded");
}

// The number `value` without a derivative: converted to an integer and back. Multiples of 2^-30.
std::string detached(GraphWriter& writer, const std::string& value, const std::string& hint) {
  const std::string units = writer.scalar(hint + ".units", 0x1p30, DType::float32);
  const std::string whole = writer.cast(writer.node("Mul", {value, units}, hint + ".counted"),
                                        DType::int64, hint + ".whole");
  const std::string back = writer.cast(whole, DType::float32, hint + ".float");
  return writer.node("Div", {back, units}, hint);
}

}  // namespace

QuantizedNetwork insert_quantization(ModelDef& model, DType weights) {
  const std::int64_t opset = Opsets(model.opsets).version("").value_or(0);
  if (opset < first_opset_with_axes) {
    fail(ErrorCode::unsupported, "quantization-aware training needs ai.onnx ",
         first_opset_with_axes, ", the model imports ai.onnx ", opset);
  }
  fold_normalization_into_convolutions(model.graph);
  QuantizedNetwork network;
  network.weight_levels = weights == DType::int8 ? reduced_levels : signed_levels;
  Inserter(model, network).run();
  if (network.layers == 0) {
    fail(ErrorCode::unsupported,
         "no Conv, Gemm or MatMul has float32 weights that could be quantized");
  }
  return network;
}

std::string write_activation_scale(GraphWriter& writer, const std::string& value,
                                   const std::string& scale,
                                   const QuantizedNetwork::Activation& activation) {
  const std::string hint = scale + ".next";
  const std::string of_batch = fitting_scale(writer, value, {}, activation.levels, hint);
  const std::string initial =
      writer.scalar(hint + ".initial", double{activation.initial}, DType::float32);
  const std::string part = writer.scalar(hint + ".part", momentum, DType::float32);
  const std::string first = writer.node("Equal", {scale, initial}, hint + ".first");
  const std::string change = writer.node(
      "Mul", {writer.node("Sub", {of_batch, scale}, hint + ".difference"), part}, hint + ".change");
  const std::string moved = writer.node("Add", {scale, change}, hint + ".moved");
  return detached(writer, writer.node("Where", {first, of_batch, moved}, hint + ".chosen"), hint);
}

void write_weight_scales(GraphWriter& writer, const GraphDef& main, const QuantizedNetwork& network,
                         Properties& bindings) {
  const std::unordered_map<std::string, std::string> before(bindings.begin(), bindings.end());
  const InitializerIndex initializers(main);
  for (const QuantizedNetwork::Weight& one : network.weights) {
    const auto update = before.find(one.weight);
    if (update == before.end()) continue;
    const std::string next = fitting_scale(writer, update->second, one.reduced,
                                           network.weight_levels, one.scale + ".next");
    writer.output(next, initializers.find(one.scale)->value);
    bindings.emplace_back(one.scale, next);
  }
}

}  // namespace ondine::graph
