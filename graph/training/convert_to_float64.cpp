#include <algorithm>
#include <memory>

#include "core/to_doubles.h"
#include "graph/training/derivative_model.h"
#include "graph/training/prepare/names.h"

namespace ondine::graph {
namespace {

void convert_to_float64(GraphDef& graph);

bool is_narrow(DType dtype) { return is_differentiable(dtype) && dtype != DType::float64; }

void convert_to_float64(Tensor& tensor) {
  if (!is_narrow(tensor.dtype())) return;
  Tensor converted(DType::float64, tensor.shape());
  const ReadElement read = element_reader(tensor.dtype());
  const auto values = converted.mutable_values<double>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = read(tensor.data(), i);
  tensor = std::move(converted);
}

void convert_to_float64(TypeDef& type) {
  if (type.kind == TypeKind::tensor && is_narrow(type.dtype)) type.dtype = DType::float64;
  if (type.element) {
    auto element = std::make_shared<TypeDef>(*type.element);
    convert_to_float64(*element);
    type.element = std::move(element);
  }
}

bool is_number_of_constant(const Attribute& attribute) {
  return attribute.name == "value_float" || attribute.name == "value_floats";
}

// A Constant with a float attribute becomes one with a tensor.
void convert_constant(Attribute& attribute) {
  Tensor tensor;
  if (const auto* one = std::get_if<float>(&attribute.data)) {
    tensor = Tensor::scalar(static_cast<double>(*one));
  } else if (const auto* many = std::get_if<std::vector<float>>(&attribute.data)) {
    tensor = Tensor::of<double>({static_cast<std::int64_t>(many->size())},
                                std::vector<double>(many->begin(), many->end()));
  } else {
    return;  // it refers to an attribute of its function
  }
  attribute = Attribute("value", std::move(tensor));
}

void convert_to_float64(NodeDef& node) {
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
      if (is_narrow(static_cast<DType>(*number)))
        *number = static_cast<std::int64_t>(DType::float64);
    } else if (auto* tensor = std::get_if<Boxed<Tensor>>(&attribute.data)) {
      convert_to_float64(tensor->edit());
    } else if (auto* subgraph = std::get_if<std::shared_ptr<const GraphDef>>(&attribute.data)) {
      GraphDef copy = **subgraph;
      convert_to_float64(copy);
      *subgraph = std::make_shared<const GraphDef>(std::move(copy));
    } else if (is_standard(node, "Constant") && is_number_of_constant(attribute)) {
      convert_constant(attribute);
    }
  }
}

// Scales of Resize are float32 whatever it resizes.
void keep_scales(NodeDef& node, std::vector<NodeDef>& before) {
  if (!node.domain.empty() || (node.op != "Resize" && node.op != "Upsample")) return;
  const std::size_t scales = node.inputs.size() == 2 ? 1 : 2;
  if (node.inputs.size() <= scales || node.inputs[scales].empty()) return;
  NodeDef& cast = before.emplace_back();
  cast.op = "Cast";
  cast.inputs = {node.inputs[scales]};
  cast.outputs = {node.outputs[0] + ".scales"};
  cast.attributes.emplace_back("to", static_cast<std::int64_t>(DType::float32));
  node.inputs[scales] = cast.outputs[0];
}

// A Constant of a function whose number the call gives is converted when it runs.
void convert_given_number(NodeDef& node, std::vector<NodeDef>& after) {
  const bool is_given =
      is_standard(node, "Constant") && node.outputs.size() == 1 &&
      std::any_of(node.attributes.begin(), node.attributes.end(), [](const Attribute& one) {
        return is_number_of_constant(one) && !one.ref->empty();
      });
  if (!is_given) return;
  NodeDef& cast = after.emplace_back();
  cast.op = "Cast";
  cast.outputs = node.outputs;
  node.outputs[0] += ".given";
  cast.inputs = node.outputs;
  cast.attributes.emplace_back("to", static_cast<std::int64_t>(DType::float64));
}

void convert_to_float64(std::vector<NodeDef>& nodes) {
  std::vector<NodeDef> converted;
  for (NodeDef& node : nodes) {
    std::vector<NodeDef> after;
    convert_to_float64(node);
    convert_given_number(node, after);
    keep_scales(node, converted);
    converted.push_back(std::move(node));
    for (NodeDef& one : after) converted.push_back(std::move(one));
  }
  nodes = std::move(converted);
}

void convert_to_float64(std::vector<ValueDef>& values) {
  for (ValueDef& value : values) convert_to_float64(value.type);
}

void convert_to_float64(GraphDef& graph) {
  convert_to_float64(graph.nodes);
  for (InitializerDef& one : graph.initializers) convert_to_float64(one.value);
  for (SparseTensorDef& one : graph.sparse_initializers) convert_to_float64(one.values);
  convert_to_float64(graph.inputs);
  convert_to_float64(graph.outputs);
  convert_to_float64(graph.value_infos);
}

}  // namespace

void convert_to_float64(ModelDef& model) {
  convert_to_float64(model.graph);
  for (FunctionDef& function : model.functions) {
    convert_to_float64(function.nodes);
    for (Attribute& one : function.defaults) {
      if (auto* tensor = std::get_if<Boxed<Tensor>>(&one.data)) convert_to_float64(tensor->edit());
    }
    convert_to_float64(function.value_infos);
  }
}

}  // namespace ondine::graph
