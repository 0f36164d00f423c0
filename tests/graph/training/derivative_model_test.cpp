// Training models as inference models of their derivatives.
#include "graph/training/derivative_model.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "graph/print/print.h"
#include "tests/graph/check/sample_model.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

TEST_CASE("main graph and step become one model of derivatives and sums, without the update") {
  ModelDef model = sample_training_model();
  GraphDef& step = *model.training[0].algorithm;
  step.inputs = {value("seed")};
  step.initializers = {initializer("rate", {0.5F, 0.5F}), initializer("k", {3, 4})};
  step.value_infos = {value("dw")};
  step.nodes.insert(step.nodes.begin(), node("Sum", {"y", "k", "seed"}, {"loss"}));
  step.nodes[1].attributes = {{"xs", std::vector<std::string>{"w"}}, {"y", std::string("loss")}};
  const DerivativeModel made = derivative_model(model, 0);
  CHECK(made.model.training.empty());
  CHECK(print(made.model) == R"(model, ir_version 10
  import ai.onnx 21
  import ai.onnx.preview.training 1
  graph sample
    input x: tensor(float)[2]
    input seed: tensor(float)[2]
    input w: tensor(float)[2]
    initializer w: tensor(float)[2] {1, 2}
    initializer rate: tensor(float)[2] {0.5, 0.5}
    initializer k: tensor(float)[2] {3, 4}
    y = Mul-21(x, w)
    loss = Sum-21(y, k, seed)
    dw: tensor(float)[2] = ai.onnx.preview.training.Gradient-1(w) {xs = {'w'}, y = 'loss'}
    loss.sum.own = ReduceSum-21(loss) {keepdims = 0}
    loss.sum: tensor(double)[] = Cast-21(loss.sum.own) {to = 11}
    output dw: tensor(float)[2]
    output loss.sum: tensor(double)[]
)");
  REQUIRE(made.outputs.size() == 1);
  CHECK(made.outputs[0].variable == "w");
  CHECK(made.outputs[0].gradient == "dw");
  CHECK(made.outputs[0].sum == "loss.sum");
}

TEST_CASE("derivatives count by initializers that are their own inputs, each once") {
  ModelDef model = sample_training_model();
  model.graph.inputs.push_back(value("w"));
  auto& gradient = model.training[0].algorithm->nodes[0];
  const auto outputs = [&](std::vector<std::string> inputs, std::vector<std::string> xs,
                           std::vector<std::string> names) {
    gradient.inputs = std::move(inputs);
    gradient.attributes = {{"xs", std::move(xs)}, {"y", std::string("y")}};
    gradient.outputs = std::move(names);
    std::string text;
    const DerivativeModel made = derivative_model(model, 0);
    for (const DerivativeOutput& one : made.outputs)
      text += one.variable + ":" + one.gradient + " ";
    CHECK(made.model.graph.inputs.size() == 2);
    CHECK(made.model.graph.outputs.size() == (made.outputs.empty() ? 0 : made.outputs.size() + 1));
    return text;
  };
  CHECK(outputs({"w"}, {"w"}, {"dw"}) == "w:dw ");
  CHECK(outputs({"x", "w"}, {"x", "w"}, {"dx", "dw"}) == "w:dw ");
  CHECK(outputs({"x"}, {"x"}, {"dw"}).empty());
  CHECK(outputs({"x", "w"}, {"x", "w"}, {"dw"}).empty());
  CHECK(outputs({"x"}, {"w"}, {"dw"}).empty());  // at another value
  gradient.domain = "org.example";
  CHECK(outputs({"w"}, {"w"}, {"dw"}).empty());
}

TEST_CASE("a model without this algorithm has no derivatives") {
  ModelDef model = sample_training_model();
  CHECK_THROWS_WITH(derivative_model(model, 1),
                    Catch::Contains("the model has no training algorithm 1"));
  model.training[0].algorithm.reset();
  CHECK_THROWS_WITH(derivative_model(model, 0),
                    Catch::Contains("the model has no training algorithm 0"));
}

TEST_CASE("what a Gradient names without reading it stays in the model") {
  ModelDef model = sample_training_model();
  GraphDef& step = *model.training[0].algorithm;
  const auto gradient = [](const std::string& x, const std::string& y, const std::string& output) {
    return node("Gradient", {x}, {output}, {{"xs", std::vector<std::string>{x}}, {"y", y}},
                training_domain);
  };
  step.nodes = {node("Tanh", {"y"}, {"inner"}), gradient("x", "inner", "dx"),
                node("Mul", {"dx", "dx"}, {"outer"}), gradient("w", "outer", "dw"),
                node("Sub", {"w", "dw"}, {"w_new"})};
  const DerivativeModel made = derivative_model(model, 0);
  const auto& nodes = made.model.graph.nodes;
  CHECK(std::any_of(nodes.begin(), nodes.end(), [](const auto& one) { return one.op == "Tanh"; }));
  REQUIRE(made.outputs.size() == 1);
  CHECK(made.outputs[0].gradient == "dw");
}

TEST_CASE("attributes of a Gradient that are of another kind are named") {
  for (const auto& [attribute, data] :
       {std::pair<std::string, Attribute::Data>{"y", std::int64_t{1}},
        {"xs", std::string("w")},
        {"zs", 0.5F}}) {
    ModelDef model = sample_training_model();
    auto& attributes = model.training[0].algorithm->nodes[0].attributes;
    std::erase_if(attributes, [&, &name = attribute](const auto& one) { return one.name == name; });
    attributes.emplace_back(attribute, data);
    CHECK_THROWS_WITH(derivative_model(model, 0),
                      Catch::Contains("attribute '" + attribute + "' of 'Gradient' is "));
  }
}
