#include "tests/graph/training/small_network.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/parameters.h"

namespace ondine::test {

using namespace graph;  // NOLINT

ValueDef value(const std::string& name, std::vector<DimDef> dims, DType dtype) {
  ValueDef result;
  result.name = name;
  result.type.kind = TypeKind::tensor;
  result.type.dtype = dtype;
  result.type.dims = std::move(dims);
  return result;
}

NodeDef named_node(const std::string& op, std::vector<std::string> inputs,
                   std::vector<std::string> outputs, Attributes attributes) {
  NodeDef result;
  result.op = op;
  result.name = "node_" + outputs[0];
  result.inputs = std::move(inputs);
  result.outputs = std::move(outputs);
  result.attributes = std::move(attributes);
  return result;
}

void weight(ModelDef& model, const std::string& name, const Shape& shape) {
  InitializerDef& added = model.graph.initializers.emplace_back();
  added.name = name;
  added.value = Tensor(DType::float32, shape);
}

ModelDef network(std::int64_t opset) {
  ModelDef model;
  model.ir_version = 4;
  model.opsets = {{"", opset}};
  GraphDef& graph = model.graph;
  graph.name = "network";
  graph.inputs = {
      value("x", {std::string("N"), std::int64_t{1}, std::int64_t{4}, std::int64_t{4}})};
  graph.outputs = {value("p", {std::string("N"), std::int64_t{3}})};
  weight(model, "conv.w", {2, 1, 3, 3});
  for (const char* name : {"bn.scale", "bn.bias", "bn.mean", "bn.var"}) weight(model, name, {2});
  weight(model, "fc.w", {3, 8});
  weight(model, "fc.b", {3});
  weight(model, "unused", {5});
  graph.nodes = {
      named_node("Conv", {"x", "conv.w"}, {"c"}),
      named_node("BatchNormalization", {"c", "bn.scale", "bn.bias", "bn.mean", "bn.var"}, {"n"}),
      named_node("Relu", {"n"}, {"r"}),
      named_node("Flatten", {"r"}, {"f"}),
      named_node("Dropout", {"f"}, {"d"}),
      named_node("Gemm", {"d", "fc.w", "fc.b"}, {"logits"}, {{"transB", std::int64_t{1}}}),
      named_node("Softmax", {"logits"}, {"p"}),
  };
  return model;
}

const NodeDef* find_op(const GraphDef& graph, const std::string& op) {
  const auto found = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                  [&](const NodeDef& one) { return one.op == op; });
  return found == graph.nodes.end() ? nullptr : &*found;
}

std::set<std::string> keys(const graph::Properties& bindings) {
  std::set<std::string> result;
  for (const auto& [key, unused] : bindings) result.insert(key);
  return result;
}

void require_single_assignment(const ModelDef& model) {
  std::set<std::string> known;
  const auto define = [&](const std::string& name) {
    if (name.empty()) return;
    INFO(name);
    REQUIRE(known.insert(name).second);
  };
  const GraphDef& algorithm = *model.training[0].algorithm;
  for (const GraphDef* graph : {&model.graph, &algorithm}) {
    std::set<std::string> with_default;
    for (const auto& one : graph->initializers) {
      define(one.name);
      with_default.insert(one.name);
    }
    for (const auto& one : graph->inputs) {
      if (!with_default.count(one.name)) define(one.name);
    }
  }
  for (const GraphDef* graph : {&model.graph, &algorithm}) {
    for (const NodeDef& one : graph->nodes) {
      for (const std::string& name : reads_of(one)) {
        INFO(name);
        REQUIRE(known.count(name) == 1);
      }
      for (const std::string& name : one.outputs) define(name);
    }
  }
  std::set<std::string> outputs;
  for (const ValueDef& one : algorithm.outputs) {
    REQUIRE(known.count(one.name) == 1);
    REQUIRE(outputs.insert(one.name).second);
  }
  for (const auto& [key, bound] : model.training[0].update_binding) {
    REQUIRE(find_initializer(model.graph, key) != find_initializer(algorithm, key));
    REQUIRE(outputs.count(bound) == 1);
  }
}

}  // namespace ondine::test
