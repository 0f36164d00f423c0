#include <algorithm>
#include <memory>

#include "graph/training/derivative_model.h"

namespace ondine::graph {
namespace {

void widen(GraphDef& graph);

void widen(Tensor& tensor) {
  if (tensor.dtype() != DType::float32) return;
  Tensor wide(DType::float64, tensor.shape());
  const auto from = tensor.values<float>();
  std::transform(from.begin(), from.end(), wide.mutable_values<double>().begin(),
                 [](float value) { return static_cast<double>(value); });
  tensor = std::move(wide);
}

void widen(TypeDef& type) {
  if (type.kind == TypeKind::tensor && type.dtype == DType::float32) type.dtype = DType::float64;
  if (type.element) {
    auto element = std::make_shared<TypeDef>(*type.element);
    widen(*element);
    type.element = std::move(element);
  }
}

// A Constant of real numbers becomes one that holds a tensor.
void widen_constant(Attribute& attribute) {
  Tensor tensor;
  if (const auto* one = std::get_if<float>(&attribute.data)) {
    tensor = Tensor::scalar(static_cast<double>(*one));
  } else {
    const auto& many = std::get<std::vector<float>>(attribute.data);
    tensor = Tensor::of<double>({static_cast<std::int64_t>(many.size())},
                                std::vector<double>(many.begin(), many.end()));
  }
  attribute = Attribute("value", std::move(tensor));
}

void widen(NodeDef& node) {
  constexpr std::int64_t single = static_cast<std::int64_t>(DType::float32);
  if (node.op == "ConstantOfShape" && find(node.attributes, "value") == nullptr) {
    node.attributes.emplace_back("value", Tensor(DType::float32, {1}));
  }
  if (node.op.starts_with("Random") && !node.op.ends_with("Like") &&
      find(node.attributes, "dtype") == nullptr) {
    node.attributes.emplace_back("dtype", single);
  }
  for (Attribute& attribute : node.attributes) {
    const bool is_type = attribute.name == "to" || attribute.name == "dtype";
    if (auto* number = std::get_if<std::int64_t>(&attribute.data); number != nullptr && is_type) {
      if (*number == single) *number = static_cast<std::int64_t>(DType::float64);
    } else if (auto* tensor = std::get_if<Tensor>(&attribute.data)) {
      widen(*tensor);
    } else if (auto* body = std::get_if<std::shared_ptr<const GraphDef>>(&attribute.data)) {
      GraphDef copy = **body;
      widen(copy);
      *body = std::make_shared<const GraphDef>(std::move(copy));
    } else if (attribute.name == "value_float" || attribute.name == "value_floats") {
      widen_constant(attribute);
    }
  }
}

void widen(std::vector<ValueDef>& values) {
  for (ValueDef& value : values) widen(value.type);
}

void widen(GraphDef& graph) {
  for (NodeDef& node : graph.nodes) widen(node);
  for (InitializerDef& one : graph.initializers) widen(one.value);
  for (SparseTensorDef& one : graph.sparse_initializers) widen(one.values);
  widen(graph.inputs);
  widen(graph.outputs);
  widen(graph.value_infos);
}

}  // namespace

void widen(ModelDef& model) {
  widen(model.graph);
  for (FunctionDef& function : model.functions) {
    for (NodeDef& node : function.nodes) widen(node);
    widen(function.value_infos);
  }
}

}  // namespace ondine::graph
