#include "graph/training/quantize/integer_weights.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/parameters.h"
#include "graph/training/prepare/uses.h"
#include "graph/training/prepare/values.h"
#include "graph/training/quantize/channels.h"

namespace ondine::graph {
namespace {

class Storer {
 public:
  Storer(GraphDef& graph, DType weights)
      : graph_(graph), weights_(weights), producers_(producers_of(graph)) {
    for (const NodeDef& node : graph.nodes) {
      for (const std::string& name : reads_of(node)) taken_.insert(name);
    }
    for (const InitializerDef& one : graph.initializers) taken_.insert(one.name);
  }

  void run() {
    std::vector<NodeDef> kept;
    for (NodeDef& node : graph_.nodes) {
      if (store_weight(node)) continue;
      if (is_standard(node, "Conv") || is_standard(node, "Gemm")) store_bias(node, kept);
      kept.push_back(node);  // producers_ points at the originals
    }
    graph_.nodes = std::move(kept);
  }

 private:
  bool store_weight(const NodeDef& node) {
    if (!is_standard(node, "QuantizeLinear") || node.inputs.size() < 3) return false;
    const InitializerDef* weight = find_initializer(graph_, node.inputs[0]);
    const InitializerDef* scale = find_initializer(graph_, node.inputs[1]);
    const InitializerDef* zero_point = find_initializer(graph_, node.inputs[2]);
    if (weight == nullptr || scale == nullptr || zero_point == nullptr ||
        zero_point->value.dtype() != DType::int8) {
      return false;
    }
    const bool is_unsigned = weights_ == DType::uint8;
    const auto axis = static_cast<std::size_t>(integer_attribute(node, "axis", 1));
    Tensor elements(weights_, weight->value.shape());
    const auto from = weight->value.values<float>();
    const auto scales = scale->value.values<float>();
    auto* const to = static_cast<std::uint8_t*>(elements.mutable_data());
    for_each_of_channels(weight->value.shape(), axis, [&](std::size_t i, std::size_t channel) {
      const float level = std::clamp(std::nearbyint(from[i] / scales[channel]), -128.0F, 127.0F);
      to[i] = static_cast<std::uint8_t>(static_cast<int>(level) + (is_unsigned ? 128 : 0));
    });
    if (is_unsigned) store_middle(zero_point->name);
    graph_.initializers.push_back({node.outputs[0], std::move(elements), {}, {}});
    return true;
  }

  // 128 for each of the zeros.
  void store_middle(const std::string& zero_point) {
    for (InitializerDef& one : graph_.initializers) {
      if (one.name != zero_point) continue;
      Tensor middle(DType::uint8, one.value.shape());
      std::ranges::fill(middle.mutable_values<std::uint8_t>(), std::uint8_t{128});
      one.value = std::move(middle);
    }
  }

  // The scales of a dequantized factor.
  std::optional<Tensor> scales_of(const std::string& value) const {
    const NodeDef* found = standard_producer(producers_, value);
    if (found == nullptr || found->op != "DequantizeLinear") return {};
    const InitializerDef* scale = find_initializer(graph_, found->inputs[1]);
    return scale == nullptr ? std::nullopt : std::optional(scale->value);
  }

  void store_bias(NodeDef& node, std::vector<NodeDef>& kept) {
    if (node.inputs.size() < 3) return;
    const InitializerDef* bias = find_initializer(graph_, node.inputs[2]);
    const auto x = scales_of(node.inputs[0]);
    const auto w = scales_of(node.inputs[1]);
    if (bias == nullptr || !x || !w || bias->value.shape() != w->shape() || x->size() != 1 ||
        !has_no_factors(node)) {
      return;
    }
    const std::string name = bias->name;
    const Tensor values = bias->value;
    Tensor scale(DType::float32, w->shape());
    Tensor elements(DType::int32, w->shape());
    for (std::size_t i = 0; i < w->values<float>().size(); ++i) {
      const float unit = x->values<float>()[0] * w->values<float>()[i];
      scale.mutable_values<float>()[i] = unit;
      const double whole = std::nearbyint(double{values.values<float>()[i]} / double{unit});
      elements.mutable_values<std::int32_t>()[i] =
          static_cast<std::int32_t>(std::clamp(whole, -2147483647.0, 2147483647.0));
    }
    NodeDef dequantize;
    dequantize.op = "DequantizeLinear";
    dequantize.inputs = {add(name + ".quantized", std::move(elements)),
                         add(name + ".scale", std::move(scale))};
    dequantize.outputs = {fresh(node.inputs[2] + ".dequantized")};
    dequantize.attributes = {{"axis", std::int64_t{0}}};
    node.inputs[2] = dequantize.outputs[0];
    kept.push_back(std::move(dequantize));
  }

  static bool has_no_factors(const NodeDef& node) {
    for (const char* name : {"alpha", "beta"}) {
      const Attribute* found = find(node.attributes, name);
      const auto* value = found == nullptr ? nullptr : std::get_if<float>(&found->data);
      if (value != nullptr && *value != 1) return false;
    }
    return true;
  }

  std::string fresh(std::string name) {
    while (!taken_.insert(name).second) name += "_";
    return name;
  }
  std::string add(const std::string& hint, Tensor value) {
    const std::string name = fresh(hint);
    graph_.initializers.push_back({name, std::move(value), {}, {}});
    return name;
  }

  GraphDef& graph_;
  DType weights_;
  Producers producers_;
  std::set<std::string> taken_;
};

}  // namespace

void store_integer_weights(GraphDef& graph, DType weights) { Storer(graph, weights).run(); }

}  // namespace ondine::graph
