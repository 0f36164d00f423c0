#include "graph/training/derivative_model.h"

#include <algorithm>

#include "core/message.h"
#include "graph/training/combine.h"
#include "graph/training/gradient_names.h"
#include "graph/training/needed.h"
#include "graph/training/prepare/parameters/parameters.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {
namespace {

bool has_name(const std::vector<ValueDef>& values, const std::string& name) {
  return std::any_of(values.begin(), values.end(),
                     [&](const ValueDef& value) { return value.name == name; });
}

ValueDef tensor_value(const std::string& name, DType dtype, const Shape& shape) {
  ValueDef value;
  value.name = name;
  value.type = tensor_type(dtype, to_dim_defs(shape));
  return value;
}

}  // namespace

DerivativeModel derivative_model(const ModelDef& model, std::size_t algorithm) {
  if (algorithm >= model.training.size() || !model.training[algorithm].algorithm) {
    fail(ErrorCode::mismatch, "the model has no training algorithm ", algorithm);
  }
  DerivativeModel result;
  result.model = model;
  result.model.training.clear();
  GraphDef& graph = result.model.graph;
  const GraphDef& step = *model.training[algorithm].algorithm;
  append(graph.nodes, step.nodes);
  append(graph.initializers, step.initializers);
  append(graph.sparse_initializers, step.sparse_initializers);
  append(graph.inputs, step.inputs);
  append(graph.value_infos, step.value_infos);
  graph.outputs.clear();
  Names names_in_use(model);
  for (const NodeDef& node : step.nodes) {
    const auto gradient_of = gradient_names(node);
    if (!gradient_of) continue;
    const std::vector<std::string>& names = gradient_of->xs;
    // Gradient differentiates the sum of y; its shape need not be known.
    const std::string& target = gradient_of->y;
    const std::string sum = names_in_use.fresh(target + ".sum");
    bool has_outputs = false;
    for (std::size_t i = 0; i < names.size() && i < node.outputs.size(); ++i) {
      const InitializerDef* variable = find_initializer(graph, names[i]);
      const std::string& gradient = node.outputs[i];
      const bool at_itself = i < node.inputs.size() && node.inputs[i] == names[i];
      if (variable == nullptr || gradient.empty() || !at_itself) continue;
      if (!has_name(graph.inputs, names[i])) {
        graph.inputs.push_back(
            tensor_value(names[i], variable->value.dtype(), variable->value.shape()));
      }
      if (has_name(graph.outputs, gradient)) continue;
      graph.outputs.push_back(
          tensor_value(gradient, variable->value.dtype(), variable->value.shape()));
      result.outputs.push_back({names[i], gradient, sum});
      has_outputs = true;
    }
    if (!has_outputs) continue;
    // The type of y need not be known either.
    const std::string own = names_in_use.fresh(sum + ".own");
    NodeDef& reduce = graph.nodes.emplace_back();
    reduce.op = "ReduceSum";
    reduce.inputs = {target};
    reduce.outputs = {own};
    reduce.attributes.emplace_back("keepdims", std::int64_t{0});
    NodeDef& cast = graph.nodes.emplace_back();
    cast.op = "Cast";
    cast.inputs = {own};
    cast.outputs = {sum};
    cast.attributes.emplace_back("to", static_cast<std::int64_t>(DType::float64));
    graph.outputs.push_back(tensor_value(sum, DType::float64, {}));
  }
  remove_unneeded_nodes(graph);
  return result;
}

}  // namespace ondine::graph
