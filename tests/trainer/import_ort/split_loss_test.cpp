// Network and loss in evaluation models of onnxruntime-training.
#include "trainer/import_ort/split_loss.h"

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/models.h"

using namespace ondine;
using graph::NodeDef;
using test::node;
using test::tensor_value;
using Names = std::vector<std::string>;

namespace {

constexpr const char* loss_name = "onnx::reducemean_output::4";

graph::ValueDef rows(const std::string& name) {
  return tensor_value(name, DType::float32, {graph::DimName("N"), std::int64_t{2}});
}

// sigmoid(x w) and its mean squared distance from "target" with the names of onnxblock.
graph::ModelDef regression() {
  graph::ModelDef model;
  model.ir_version = 8;
  model.opsets = {{"", 17}};
  graph::GraphDef& graph = model.graph;
  graph.name = "network";
  graph.inputs = {rows("x"), rows("target")};
  graph.initializers = {
      {"w", Tensor::of<float>({2, 2}, {1, 2, 3, 4}), {}, {}},
      {"onnx::pow_exponent::2", Tensor::of<float>({1}, {2}), {}, {}},
  };
  graph.nodes = {
      node("MatMul", {"x", "w"}, {"h"}), node("Sigmoid", {"h"}, {"output"}),
      node("Sub", {"output", "target"}, {"onnx::sub_output::1"}),
      node("Pow", {"onnx::sub_output::1", "onnx::pow_exponent::2"}, {"onnx::pow_output::3"}),
      node("ReduceMean", {"onnx::pow_output::3"}, {loss_name}, {{"keepdims", std::int64_t{0}}})};
  graph.outputs = {tensor_value(loss_name, DType::float32, {})};
  return model;
}

const graph::ValueTypes types{{"h", rows("h").type},
                              {"output", rows("output").type},
                              {"x", rows("x").type},
                              {"own_loss", tensor_value("own_loss", DType::float32, {}).type}};

trainer::SplitModel split(const graph::ModelDef& model, const Names& labels = {}) {
  return trainer::split_loss(model, types, {"w"}, labels);
}

template <class Objects>
Names names(const Objects& objects) {
  Names result;
  for (const auto& one : objects) result.push_back(one.name);
  return result;
}

Names operators(const graph::GraphDef& graph) {
  Names result;
  for (const NodeDef& one : graph.nodes) result.push_back(one.op);
  return result;
}

}  // namespace

TEST_CASE("the network ends where the loss of onnxblock begins") {
  const trainer::SplitModel found = split(regression());
  CHECK(found.labels == Names{"target"});
  CHECK(found.dropped.empty());
  CHECK(operators(found.network.graph) == Names{"MatMul", "Sigmoid"});
  CHECK(names(found.network.graph.inputs) == Names{"x"});
  CHECK(names(found.network.graph.outputs) == Names{"output"});
  CHECK(names(found.network.graph.initializers) == Names{"w"});
  CHECK(operators(found.loss.graph) == Names{"Sub", "Pow", "ReduceMean"});
  CHECK(names(found.loss.graph.inputs) == Names{"output", "target"});
  CHECK(names(found.loss.graph.initializers) == Names{"onnx::pow_exponent::2"});
  CHECK(names(found.loss.graph.outputs) == Names{loss_name});
}

TEST_CASE("a loss of onnxblock takes the nodes on the network's result that it has added") {
  graph::ModelDef model = regression();
  model.graph.nodes[1].outputs = {"onnx::sigmoid_output::7"};
  model.graph.nodes[2].inputs[0] = "onnx::sigmoid_output::7";
  const trainer::SplitModel found = split(model);
  CHECK(operators(found.network.graph) == Names{"MatMul"});
  CHECK(names(found.network.graph.outputs) == Names{"h"});
  CHECK(operators(found.loss.graph) == Names{"Sigmoid", "Sub", "Pow", "ReduceMean"});
  // Names of PyTorch's exporter are others.
  model.graph.nodes[1].outputs = {"onnx::Sub_12"};
  model.graph.nodes[2].inputs[0] = "onnx::Sub_12";
  graph::ValueTypes more = types;
  more["onnx::Sub_12"] = rows("").type;
  CHECK(operators(trainer::split_loss(model, more, {"w"}, {}).network.graph) ==
        Names{"MatMul", "Sigmoid"});
}

TEST_CASE("additional outputs stay unless they depend on a label") {
  graph::ModelDef model = regression();
  model.graph.outputs.push_back(rows("h"));
  model.graph.outputs.push_back(rows("onnx::sub_output::1"));
  const trainer::SplitModel found = split(model);
  CHECK(names(found.network.graph.outputs) == Names{"output", "h"});
  CHECK(found.dropped == Names{"onnx::sub_output::1"});
  CHECK(names(found.loss.graph.outputs) == Names{loss_name});
}

TEST_CASE("without names of onnxblock the loss is what depends on inputs that reach no parameter") {
  graph::ModelDef model = regression();
  model.graph.nodes[2].outputs = {"difference"};
  model.graph.nodes[3].inputs = {"difference", "onnx::pow_exponent::2"};
  model.graph.nodes[3].outputs = {"squares"};
  model.graph.nodes[4].inputs = {"squares"};
  model.graph.nodes[4].outputs = {"own_loss"};
  model.graph.outputs = {tensor_value("own_loss", DType::float32, {})};
  CHECK(split(model).labels == Names{"target"});
  CHECK(operators(split(model).loss.graph) == Names{"Sub", "Pow", "ReduceMean"});

  // An input that a parameter scales later is the network's, unless the caller names it as a label.
  model.graph.nodes[0].inputs = {"target", "w"};
  model.graph.nodes[2].inputs = {"output", "x"};
  CHECK(split(model).labels == Names{"x"});
  CHECK_THROWS_WITH(split(model, {"absent"}), Catch::Contains("no input 'absent'"));

  // Where no input is a label the loss stays in the network.
  model.graph.nodes[2].inputs = {"output", "target"};
  model.graph.inputs = {rows("target")};
  const trainer::SplitModel whole = split(model);
  CHECK(whole.labels.empty());
  CHECK(whole.network.graph.nodes.size() == 5);
  CHECK(operators(whole.loss.graph) == Names{"Identity"});
  CHECK(names(whole.loss.graph.inputs) == Names{"own_loss"});
}

TEST_CASE("a loss on a value of unknown type is an error that names it") {
  CHECK_THROWS_WITH(trainer::split_loss(regression(), {}, {"w"}, {}),
                    Catch::Contains("the type of 'output'"));
}

TEST_CASE("a loss times a Constant of onnxblock, which has the shape [1], is one number") {
  graph::ModelDef model = regression();
  graph::GraphDef& graph = model.graph;
  graph.initializers.push_back({"onnx::initializer::5", Tensor::of<float>({1}, {0.5F}), {}, {}});
  graph.nodes.push_back(node("Mul", {loss_name, "onnx::initializer::5"}, {"onnx::mul_output::6"}));
  graph.outputs = {tensor_value("onnx::mul_output::6", DType::float32, {std::int64_t{1}})};
  SECTION("as it is declared") {}
  SECTION("of two dims") {
    graph.outputs[0].type.dims = std::vector<graph::DimDef>{std::int64_t{1}, std::int64_t{1}};
  }
  const trainer::SplitModel found = split(model);
  CHECK(operators(found.loss.graph) == Names{"Sub", "Pow", "ReduceMean", "Mul", "ReduceSum"});
  CHECK(names(found.loss.graph.outputs) == Names{"loss"});
  CHECK(found.loss.graph.outputs[0].type.dims->empty());
  CHECK(found.loss.graph.nodes.back().inputs == Names{"onnx::mul_output::6"});
  CHECK(names(found.loss.graph.initializers) ==
        Names{"onnx::pow_exponent::2", "onnx::initializer::5"});
  // More than one number stays what it is, for prepare to refuse.
  graph.outputs[0].type.dims = std::vector<graph::DimDef>{graph::DimName("N")};
  CHECK(operators(split(model).loss.graph).back() == "Mul");
}

TEST_CASE("Constant nodes that the loss reads belong to it, and stay in the network too") {
  graph::ModelDef model = regression();
  graph::GraphDef& graph = model.graph;
  graph.nodes.insert(graph.nodes.begin(),
                     node("Constant", {}, {"half"}, {{"value", Tensor::of<float>({1}, {0.5F})}}));
  graph.nodes.push_back(node("Mul", {loss_name, "half"}, {"scaled"}));
  graph.outputs = {tensor_value("scaled", DType::float32, {std::int64_t{1}})};
  const trainer::SplitModel found = split(model);
  CHECK(operators(found.loss.graph) ==
        Names{"Constant", "Sub", "Pow", "ReduceMean", "Mul", "ReduceSum"});
  CHECK(names(found.loss.graph.inputs) == Names{"output", "target"});
  CHECK(operators(found.network.graph) == Names{"Constant", "MatMul", "Sigmoid"});
  CHECK(names(found.network.graph.outputs) == Names{"output"});
}
