#include "tests/autodiff/small_models.h"

#include <ondine/model.h>

#include "tests/support/models.h"

namespace ondine::test {

using namespace graph;  // NOLINT

namespace {

ValueDef untyped(const std::string& name) {
  ValueDef value;
  value.name = name;
  return value;
}

}  // namespace

ModelDef small_model(std::vector<NodeDef> nodes, const std::vector<std::string>& names) {
  ModelDef model;
  model.ir_version = 9;
  model.opsets = {{"", 18}, {gradient_domain, 1}, {"local", 1}};
  model.graph.name = "main";
  model.graph.inputs = {tensor_value("a", DType::float64, {std::int64_t{3}}),
                        tensor_value("b", DType::float64, {std::int64_t{3}}),
                        tensor_value("flag", DType::boolean, {})};
  for (const auto& name : names) {
    model.graph.outputs.push_back(tensor_value(name, DType::float64, {std::monostate()}));
  }
  model.graph.nodes = std::move(nodes);
  return model;
}

std::vector<Tensor> run_model(const ModelDef& model, const std::vector<double>& a,
                              const std::vector<double>& b, bool flag) {
  const Model loaded = Model::load(encode(model));
  std::vector<Tensor> result;
  for (const auto& [name, value] : loaded.infer(NamedValues{{"a", Tensor::of<double>({3}, a)},
                                                            {"b", Tensor::of<double>({3}, b)},
                                                            {"flag", Tensor::scalar(flag)}})) {
    result.push_back(value.tensor());
  }
  return result;
}

NodeDef gradient(std::vector<std::string> inputs, std::vector<std::string> outputs,
                 std::vector<std::string> xs, const std::string& y, std::vector<std::string> zs) {
  Attributes attributes{{"xs", std::move(xs)}, {"y", y}};
  if (!zs.empty()) attributes.emplace_back("zs", std::move(zs));
  return node("Gradient", std::move(inputs), std::move(outputs), std::move(attributes),
              gradient_domain);
}

std::shared_ptr<const GraphDef> body(std::vector<ValueDef> inputs, std::vector<NodeDef> nodes,
                                     std::vector<std::string> outputs) {
  auto graph = std::make_shared<GraphDef>();
  graph->name = "body";
  graph->inputs = std::move(inputs);
  graph->nodes = std::move(nodes);
  for (const auto& name : outputs) graph->outputs.push_back(untyped(name));
  return graph;
}

std::vector<ValueDef> loop_inputs(std::vector<ValueDef> carried) {
  std::vector<ValueDef> inputs{tensor_value("i", DType::int64, {}),
                               tensor_value("go_on", DType::boolean, {})};
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  return inputs;
}

NodeDef int_constant(const std::string& name, std::int64_t value) {
  return node("Constant", {}, {name}, {{"value_int", value}});
}

NodeDef int_vector(const std::string& name, std::vector<std::int64_t> values) {
  return node("Constant", {}, {name}, {{"value_ints", std::move(values)}});
}

}  // namespace ondine::test
