#include "graph/training/prepare/values.h"

#include <cstring>

#include "core/to_doubles.h"
#include "graph/training/prepare/parameters/parameters.h"

namespace ondine::graph {
namespace {

// The attribute with the value of a Constant node.
const Attribute* constant_attribute(const GraphDef& graph, std::string_view name) {
  for (const NodeDef& node : graph.nodes) {
    const bool makes = node.op == "Constant" && node.domain.empty() && !node.outputs.empty() &&
                       node.outputs[0] == name && !node.attributes.empty();
    if (makes) return &node.attributes[0];
  }
  return nullptr;
}

const Tensor* constant_tensor(const GraphDef& graph, std::string_view name) {
  if (const InitializerDef* found = find_initializer(graph, name)) return &found->value;
  const Attribute* attribute = constant_attribute(graph, name);
  return attribute == nullptr ? nullptr : tensor_of(*attribute);
}

}  // namespace

ValueTypes known_types(const GraphDef& graph, const ValueTypes& types) {
  ValueTypes result = types;
  for (const auto* list : {&graph.outputs, &graph.inputs, &graph.value_infos}) {
    for (const ValueDef& one : *list) result.emplace(one.name, one.type);
  }
  return result;
}

std::optional<std::vector<std::int64_t>> constant_integers(const GraphDef& graph,
                                                           std::string_view name) {
  if (const Tensor* tensor = constant_tensor(graph, name)) {
    if (tensor->dtype() != DType::int64) return std::nullopt;
    const auto values = tensor->values<std::int64_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  }
  const Attribute* attribute = constant_attribute(graph, name);
  if (attribute == nullptr) return std::nullopt;
  if (const auto* one = std::get_if<std::int64_t>(&attribute->data)) return std::vector{*one};
  if (const auto* all = std::get_if<std::vector<std::int64_t>>(&attribute->data)) return *all;
  return std::nullopt;
}

std::optional<double> constant_number(const GraphDef& graph, std::string_view name) {
  if (const Tensor* tensor = constant_tensor(graph, name)) {
    if (tensor->size() != 1 || !is_differentiable(tensor->dtype())) return std::nullopt;
    return element_reader(tensor->dtype())(tensor->data(), 0);
  }
  const Attribute* attribute = constant_attribute(graph, name);
  const auto* value = attribute == nullptr ? nullptr : std::get_if<float>(&attribute->data);
  if (value == nullptr) return std::nullopt;
  return static_cast<double>(*value);
}

bool all_equal(const Tensor& tensor) {
  const std::size_t size = size_of(tensor.dtype());
  const auto* bytes = static_cast<const std::byte*>(tensor.data());
  return tensor.bytes() <= size || std::memcmp(bytes, bytes + size, tensor.bytes() - size) == 0;
}

std::int64_t integer_attribute(const NodeDef& node, std::string_view name, std::int64_t otherwise) {
  const Attribute* attribute = find(node.attributes, name);
  const auto* value = attribute == nullptr ? nullptr : std::get_if<std::int64_t>(&attribute->data);
  return value == nullptr ? otherwise : *value;
}

}  // namespace ondine::graph
