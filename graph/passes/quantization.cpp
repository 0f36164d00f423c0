#include "graph/passes/quantization.h"

#include <algorithm>
#include <cmath>

namespace ondine::graph {
namespace {

std::optional<Quantization> read(const Node* node, const Graph& graph, const Uses& uses,
                                 bool quantizes) {
  if (node == nullptr) return std::nullopt;
  const NodeView view(*node);
  if (view.attr_int("block_size", 0) != 0 || view.attr_int("precision", 0) != 0)
    return std::nullopt;
  Quantization q;
  q.input = node->inputs[0];
  q.scale = node->inputs[1];
  q.scales = uses.constant(q.scale);
  if (view.has_input(2)) {
    q.zero_point = node->inputs[2];
    q.zero_points = uses.constant(q.zero_point);
    if (!q.zero_points.defined() || q.zero_points.size() != q.scales.size()) return std::nullopt;
  }
  const Type& type = graph[quantizes ? node->outputs[0] : q.input].type;
  const Type& real = graph[quantizes ? q.input : node->outputs[0]].type;
  if (!type.is_tensor() || real.dtype != DType::float32) return std::nullopt;
  q.dtype = type.dtype;
  q.axis = view.attr_int("axis", 1);
  if (!q.scales.defined() || q.scales.dtype() != DType::float32 || q.scales.shape().rank() > 1) {
    return std::nullopt;
  }
  const auto scales = q.scales.values<float>();
  const bool usual =
      std::all_of(scales.begin(), scales.end(), [](float s) { return std::isfinite(s) && s > 0; });
  return usual ? std::optional(q) : std::nullopt;
}

const char* integer_activation(const ActivationNode& activation) {
  if (activation.relu) return "Relu";
  return activation.low == 0.0F && activation.high == 6.0F ? "Relu6" : nullptr;
}

}  // namespace

std::optional<Quantization> quantized(const Node& node, const Graph& graph, const Uses& uses) {
  return read(&node, graph, uses, true);
}

std::optional<Quantization> dequantized(ValueId id, const Graph& graph, const Uses& uses) {
  return read(uses.producer(id, "DequantizeLinear"), graph, uses, false);
}

int zero_point_number(const Quantization& q) {
  if (!q.zero_points.defined()) return 0;
  return q.dtype == DType::int8 ? int{q.zero_points.values<std::int8_t>()[0]}
                                : int{q.zero_points.values<std::uint8_t>()[0]};
}

bool same_parameters(const Quantization& a, const Quantization& b) {
  return a.per_tensor() && b.per_tensor() && a.dtype == b.dtype && is_int8(a.dtype) &&
         a.scales.values<float>()[0] == b.scales.values<float>()[0] &&
         zero_point_number(a) == zero_point_number(b);
}

ValueId zero_point_of(const Quantization& q, Graph& graph) {
  if (q.zero_point != no_value) return q.zero_point;
  return add_constant(graph, "zero_point", Tensor(q.dtype, Shape{}));
}

ValueId add_constant(Graph& graph, const std::string& hint, Tensor tensor) {
  const ValueId id = graph.add_temporary(hint, Type::tensor(tensor.dtype(), tensor.shape()));
  graph[id].constant = std::move(tensor);
  return id;
}

bool is_scalar_int8(const std::optional<Quantization>& q) {
  return q && q->per_tensor() && is_int8(q->dtype);
}

Activated before_activation(ValueId id, const Graph& graph, const Uses& uses) {
  for (const char* op : {"Relu", "Clip"}) {
    const Node* node = uses.producer_for(id, 1, op);
    const auto activation = node == nullptr ? std::nullopt : read_activation(*node, graph);
    const char* const name = activation ? integer_activation(*activation) : nullptr;
    if (name != nullptr) return {node->inputs[0], name};
  }
  return {id, nullptr};
}

}  // namespace ondine::graph
