// Which weights of a model are drawn, and whether it has been trained.
#include "graph/training/prepare/parameters/initialize.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "graph/training/prepare/prepare.h"
#include "tests/graph/training/small_network.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

using Body = std::shared_ptr<const GraphDef>;

Tensor numbers(DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  auto* bytes = static_cast<unsigned char*>(tensor.mutable_data());
  for (std::size_t i = 0; i < tensor.bytes(); ++i) {
    bytes[i] = static_cast<unsigned char>(size_of(dtype) == 1 ? i + 1 : 0);
  }
  if (dtype == DType::float32) {
    float next = 0.25F;
    for (float& one : tensor.mutable_values<float>()) one = next += 0.3F * next;
  }
  return tensor;
}

InitializerDef& initializer(ModelDef& model, const std::string& name) {
  return *std::find_if(model.graph.initializers.begin(), model.graph.initializers.end(),
                       [&](const auto& one) { return one.name == name; });
}

ChosenInit chosen(ModelDef model, const PrepareOptions& options = {}) {
  const PrepareReport report = prepare(model, options);
  return {report.init, report.init_reason};
}

// Which initializers the initialization of a prepared model draws.
std::set<std::string> drawn(ModelDef model) {
  PrepareOptions options;
  options.init = WeightInit::he_uniform;
  options.training_mode = false;
  prepare(model, options);
  return keys(model.training[0].initialization_binding);
}

// "logits" by way of an If whose branches read `names` of the graph around them.
ModelDef in_branches(const std::vector<NodeDef>& nodes) {
  ModelDef model = network();
  model.graph.nodes.resize(5);
  InitializerDef& condition = model.graph.initializers.emplace_back();
  condition.name = "condition";
  condition.value = Tensor::scalar(true);
  const auto branch = [&](const std::string& side) {
    auto body = std::make_shared<GraphDef>();
    body->name = side;
    body->nodes = nodes;
    for (NodeDef& node : body->nodes) {
      for (auto* names : {&node.inputs, &node.outputs}) {
        for (std::string& name : *names) {
          if (name.starts_with("own.")) name += side;
        }
      }
    }
    body->outputs = {value("own.y" + side, {std::string("N"), std::int64_t{3}})};
    return Body(body);
  };
  model.graph.nodes.push_back(named_node(
      "If", {"condition"}, {"p"}, {{"then_branch", branch("a")}, {"else_branch", branch("b")}}));
  return model;
}

}  // namespace

TEST_CASE("a model has been trained if a parameter, frozen or not, has elements that differ") {
  CHECK(chosen(network()).init == WeightInit::he_uniform);
  SECTION("a matrix that is trained") {
    ModelDef model = network();
    initializer(model, "fc.w").value = numbers(DType::float32, {3, 8});
    CHECK(chosen(model).reason == "the model has been trained: elements of 'fc.w' differ");
  }
  SECTION("one that an option freezes") {
    ModelDef model = network();
    initializer(model, "conv.w").value = numbers(DType::float32, {2, 1, 3, 3});
    PrepareOptions options;
    options.last_layers = 1;
    CHECK(chosen(model, options).reason ==
          "the model has been trained: elements of 'conv.w' differ");
    options.freeze = {"conv.w"};
    options.last_layers.reset();
    CHECK(chosen(model, options).init == WeightInit::keep);
  }
  SECTION("a vector") {
    ModelDef model = network();
    initializer(model, "bn.scale").value = numbers(DType::float32, {2});
    CHECK(chosen(model).reason == "the model has been trained: elements of 'bn.scale' differ");
  }
  SECTION("a quantized matrix") {
    for (const DType dtype : {DType::int8, DType::uint8}) {
      ModelDef model = network();
      const auto add_dequantized = [&](const Tensor& matrix, bool is_constant_node) {
        weight(model, "scale", {});
        model.graph.initializers.back().value = Tensor::scalar(0.1F);
        if (is_constant_node) {
          model.graph.nodes.insert(model.graph.nodes.begin(),
                                   named_node("Constant", {}, {"q"}, {{"value", matrix}}));
        } else {
          InitializerDef& added = model.graph.initializers.emplace_back();
          added.name = "q";
          added.value = matrix;
        }
        model.graph.nodes.back() = named_node("DequantizeLinear", {"q", "scale"}, {"m"});
        model.graph.nodes.push_back(named_node("MatMul", {"logits", "m"}, {"p"}));
      };
      const bool is_constant_node = GENERATE(false, true);
      add_dequantized(numbers(dtype, {3, 3}), is_constant_node);
      CHECK(chosen(model).reason == "the model has been trained: elements of 'q' differ");
    }
    // One of equal elements says nothing.
    ModelDef model = network();
    InitializerDef& added = model.graph.initializers.emplace_back();
    added.name = "q";
    added.value = Tensor(DType::int8, {3, 3});
    CHECK(chosen(model).init == WeightInit::he_uniform);
  }
}

TEST_CASE("weights that subgraphs capture are drawn for how these use them") {
  const Attributes transposed{{"transB", std::int64_t{1}}};
  CHECK(drawn(network()) == std::set<std::string>{"conv.w", "fc.w"});
  CHECK(drawn(in_branches({named_node("Gemm", {"d", "fc.w", "fc.b"}, {"own.y"}, transposed)})) ==
        std::set<std::string>{"conv.w", "fc.w"});
  // A term of two dims is none.
  ModelDef model = in_branches({named_node("Gemm", {"d", "fc.w", "fc.b"}, {"own.g"}, transposed),
                                named_node("Add", {"own.g", "term"}, {"own.y"})});
  weight(model, "term", {1, 3});
  initializer(model, "term").value = numbers(DType::float32, {1, 3});
  CHECK(drawn(model) == std::set<std::string>{"conv.w", "fc.w"});
}

TEST_CASE("weights that functions are given are drawn for how these use them") {
  ModelDef model = network();
  model.opsets.push_back({"test", 1});
  FunctionDef& layer = model.functions.emplace_back();
  layer.name = "Shifted";
  layer.domain = "test";
  layer.inputs = {"data", "shift"};
  layer.outputs = {"sum"};
  layer.opsets = {{"", 17}};
  layer.nodes = {named_node("Add", {"data", "shift"}, {"sum"})};
  NodeDef call = named_node("Shifted", {"logits", "term"}, {"p"});
  call.domain = "test";
  model.graph.nodes.back() = call;
  weight(model, "term", {1, 3});
  initializer(model, "term").value = numbers(DType::float32, {1, 3});
  CHECK(drawn(model) == std::set<std::string>{"conv.w", "fc.w"});
  model.functions[0].nodes[0].op = "MatMul";
  initializer(model, "term").value = numbers(DType::float32, {3, 3});
  CHECK(drawn(model) == std::set<std::string>{"conv.w", "fc.w", "term"});
}
