#include <catch2/catch.hpp>

#include "tests/graph/check/sample_model.h"

namespace ondine::test {
namespace {

using Catch::Contains;
using graph::ModelDef;

void expect(const ModelDef& model, const std::string& text) {
  CHECK_THAT(findings_of(model), Contains(text));
}

graph::Attributes xs_y(std::vector<std::string> xs, const std::string& y) {
  return {{"xs", std::move(xs)}, {"y", y}};
}

TEST_CASE("bindings have known, unique keys and graph outputs of the variable's type") {
  const auto base = sample_training_model();
  auto model = base;
  model.training[0].update_binding.push_back({"w", "y"});
  expect(model, "update binding of 'w' is defined twice");
  model = base;
  model.training[0].update_binding = {{"x", "w_new"}};
  expect(model, "update binding of 'x', which is not an initializer");
  model = base;
  model.training[0].update_binding = {{"w", "dw"}};
  expect(model, "update binding of 'w' to 'dw', which is not a graph output");
  model = base;
  model.training[0].update_binding = {{"w", "y"}};
  CHECK(findings_of(model) == "");
  model = base;
  model.training[0].algorithm->outputs[0] = value("w_new", {std::int64_t{3}});
  expect(model, "declared with shape [3], it has [2]");
  model.training[0].algorithm->outputs[0].type = {};
  CHECK(findings_of(model) == "");
}

TEST_CASE("a sparse initializer may be a state variable") {
  ModelDef model = sample_training_model();
  graph::SparseTensorDef sparse;
  sparse.name = "w";
  sparse.values = Tensor::of<float>({1}, {3.0F});
  sparse.indices = Tensor::of<std::int64_t>({1}, {1});
  sparse.dims = {2};
  std::erase_if(model.graph.initializers, [](const auto& one) { return one.name == "w"; });
  model.graph.sparse_initializers = {sparse};
  CHECK(findings_of(model) == "");
  model.training[0].algorithm->outputs[0] = value("w_new", {std::int64_t{3}});
  expect(model, "declared with shape [3], it has [2]");
}

TEST_CASE("initialization graphs have no inputs and see state variables only") {
  const auto base = sample_training_model();
  auto model = base;
  model.training[0].initialization_binding = {{"w", "w0"}};
  expect(model, "initialization binding of 'w' without an initialization graph");
  graph::GraphDef initialization;
  initialization.name = "start";
  initialization.initializers = {initializer("w", {0, 0})};
  initialization.nodes = {node("Neg", {"w"}, {"w0"})};
  initialization.outputs = {value("w0")};
  model.training[0].initialization = initialization;
  CHECK(findings_of(model) == "");
  model.training[0].initialization->inputs = {value("seed")};
  expect(model, "must not have inputs, this one has 'seed'");
  model.training[0].initialization = initialization;
  model.training[0].initialization->nodes = {node("Neg", {"x"}, {"w0"})};
  expect(model, "reads 'x', which is not defined, in the initialization graph of training_info 0");
  // "Mutable variables shared by multiple graphs".
  model.training[0].initialization->initializers.clear();
  model.training[0].initialization->nodes = {node("Neg", {"w"}, {"w0"})};
  CHECK(findings_of(model) == "");
  // A constant of the main graph is no variable.
  model.graph.initializers.push_back(initializer("k", {1, 1}));
  model.training[0].initialization->nodes = {node("Neg", {"k"}, {"w0"})};
  expect(model, "reads 'k', which is not defined, in the initialization graph");
  // A name of its own comes first, also where it is read too early.
  model.training[0].initialization->nodes = {node("Neg", {"w"}, {"w0"}),
                                             node("Neg", {"w0"}, {"w"})};
  expect(model, "reads 'w' before node 'w' ('Neg') defines it");
}

TEST_CASE("an update without an algorithm takes an output of the main graph") {
  auto model = sample_training_model();
  model.training[0].algorithm.reset();
  expect(model, "update binding of 'w' to 'w_new', which is not a graph output");
  model.training[0].update_binding = {{"w", "y"}};
  CHECK(findings_of(model) == "");
  model.graph.outputs[0] = value("y", {std::int64_t{3}});
  expect(model, "update binding of 'w' to 'y', whose type differs from the variable's");
}

TEST_CASE("main and algorithm graph join to one graph") {
  const auto base = sample_training_model();
  auto model = base;
  model.training[0].algorithm->initializers = {initializer("w", {1, 1})};
  expect(model, "initializer 'w' has the name of an initializer of the main graph");
  model = base;
  model.training[0].algorithm->inputs = {value("x")};
  expect(model, "graph input 'x' has the name of an input of the main graph");
  model = base;
  model.training[0].algorithm->inputs = {value("w")};
  CHECK(findings_of(model) == "");
  model = base;
  model.training[0].algorithm->nodes[1].outputs = {"y"};
  expect(model, "defines 'y', the name of node 'y' ('Mul')");
  model = base;
  model.graph.nodes[0].inputs[1] = "dw";
  expect(model, "reads 'dw', which is not defined");
  model = base;
  model.ir_version = 6;
  expect(model, "training_info needs ir_version 7");
}

TEST_CASE("algorithms share constants by name but no state of their own") {
  auto model = sample_training_model();
  model.training[0].algorithm->initializers = {initializer("rate", {1, 1})};
  model.training.push_back(model.training[0]);
  CHECK(findings_of(model) == "");
  model.training[1].update_binding = {{"rate", "w_new"}};
  expect(model,
         "state variable 'rate' is an initializer of the algorithm graphs of "
         "training_info 0 and 1");
}

TEST_CASE("Gradient names tensors that are visible, floating and independent") {
  const auto base = sample_training_model();
  auto model = base;
  auto& gradient = model.training[0].algorithm->nodes[0];
  gradient.attributes = xs_y({"nothing"}, "y");
  expect(model, "names 'nothing' in xs, which is not defined before the node");
  gradient.attributes = xs_y({"w"}, "w_new");
  expect(model, "names 'w_new' in y, which is not defined before the node");
  gradient.attributes = xs_y({"w", "x"}, "y");
  expect(model, "has 1 inputs for 2 xs and 0 zs");
  gradient.inputs = {"w", "w"};
  gradient.attributes = xs_y({"w", "w"}, "y");
  expect(model, "names 'w' twice in xs");
  gradient.outputs = {"dw", "dx", "dz"};
  gradient.attributes = xs_y({"w", "x"}, "y");
  expect(model, "has 3 outputs for 2 xs");
  gradient.outputs = {"dw", ""};
  CHECK(findings_of(model) == "");
  gradient.attributes = xs_y({"y", "w"}, "y");
  expect(model, "names 'y' in xs, which depends on 'w', another x");
  model.graph.inputs[0] = value("x", {std::int64_t{2}}, DType::int32);
  gradient.attributes = xs_y({"w", "x"}, "y");
  expect(model, "names 'x' in xs, whose elements are int32");
}

TEST_CASE("Gradient holds no tensor that depends on another one that it names") {
  auto model = sample_training_model();
  model.graph.nodes = {node("Mul", {"x", "w"}, {"h"}), node("Relu", {"x"}, {"r"}),
                       node("Add", {"h", "r"}, {"y"})};
  auto& gradient = model.training[0].algorithm->nodes[0];
  const auto hold = [&](std::vector<std::string> xs, std::vector<std::string> zs) {
    gradient.inputs = xs;
    gradient.inputs.insert(gradient.inputs.end(), zs.begin(), zs.end());
    gradient.attributes = xs_y(std::move(xs), "y");
    gradient.attributes.push_back({"zs", std::move(zs)});
  };
  hold({"w"}, {"x"});
  CHECK(findings_of(model) == "");
  hold({"w"}, {"r"});  // r comes from nothing that is named
  CHECK(findings_of(model) == "");
  hold({"h"}, {"r"});
  CHECK(findings_of(model) == "");
  hold({"w"}, {"h"});
  expect(model, "names 'h' in zs, which depends on 'w' in xs");
  hold({"w"}, {"x", "r"});
  expect(model, "names 'r' in zs, which depends on 'x', another z");
  // The dependence may lead through values that nothing names.
  model.graph.nodes = {node("Mul", {"x", "w"}, {"h"}), node("Relu", {"h"}, {"a"}),
                       node("Relu", {"a"}, {"b"}), node("Relu", {"b"}, {"y"})};
  hold({"w"}, {"b"});
  expect(model, "names 'b' in zs, which depends on 'w' in xs");
}

TEST_CASE("Gradient differentiates by no tensor that one it holds generates") {
  auto model = sample_training_model();
  model.graph.nodes = {node("Relu", {"x"}, {"r"}), node("Mul", {"r", "w"}, {"h"}),
                       node("Relu", {"h"}, {"y"})};
  auto& gradient = model.training[0].algorithm->nodes[0];
  gradient.inputs = {"h", "x"};
  gradient.attributes = xs_y({"h"}, "y");
  gradient.attributes.push_back({"zs", std::vector<std::string>{"x"}});
  expect(model, "names 'h' in xs, which depends on 'x' in zs");
  // Tensor 'h' may be in xs if the held one comes from elsewhere.
  gradient.inputs = {"h", "c"};
  model.graph.initializers.push_back(initializer("c", {1}));
  gradient.attributes.back() = {"zs", std::vector<std::string>{"c"}};
  CHECK(findings_of(model) == "");
}

TEST_CASE("Gradient's tensors depend on each other through functions as their bodies say") {
  auto model = sample_training_model();
  model.opsets.push_back({"local", 1});
  graph::FunctionDef inner;
  inner.name = "Second";
  inner.domain = "local";
  inner.opsets = model.opsets;
  inner.inputs = {"p", "q"};
  inner.outputs = {"o"};
  inner.nodes = {node("Relu", {"q"}, {"o"})};
  graph::FunctionDef outer = inner;
  outer.name = "Both";
  outer.outputs = {"one", "two"};
  outer.nodes = {node("Second", {"p", "q"}, {"one"}, {}, "local"),
                 node("Second", {"q", "p"}, {"two"}, {}, "local")};
  model.functions = {inner, outer};
  model.graph.nodes = {node("Both", {"x", "w"}, {"of_w", "of_x"}, {}, "local"),
                       node("Add", {"of_w", "of_x"}, {"y"})};
  auto& gradient = model.training[0].algorithm->nodes[0];
  const auto by = [&](const std::string& x) {
    gradient.inputs = {"w", x};
    gradient.attributes = xs_y({"w", x}, "y");
    return findings_of(model);
  };
  CHECK_THAT(by("of_w"), Catch::Contains("names 'of_w' in xs, which depends on 'w'"));
  CHECK(by("of_x") == "");
}

TEST_CASE("Gradient's tensors depend on each other through branches too") {
  auto model = sample_training_model();
  graph::GraphDef branch;
  branch.nodes = {node("Relu", {"w"}, {"r"})};
  branch.outputs = {value("r")};
  model.graph.inputs.push_back(value("c", {}, DType::boolean));
  model.graph.nodes = {
      node("If", {"c"}, {"h"}, {{"then_branch", body(branch)}, {"else_branch", body(branch)}}),
      node("Mul", {"h", "x"}, {"y"})};
  auto& gradient = model.training[0].algorithm->nodes[0];
  gradient.inputs = {"w", "h"};
  gradient.attributes = xs_y({"w", "h"}, "y");
  expect(model, "names 'h' in xs, which depends on 'w'");
  // The branch's own names hide outer ones; what it hands on and what a deeper one reads counts.
  graph::GraphDef deep;
  deep.initializers = {initializer("w", {1})};
  deep.nodes = {node("Relu", {"w"}, {"r"})};
  deep.outputs = {value("r")};
  const auto with_branch = [&](const graph::GraphDef& one) {
    model.graph.nodes[0].attributes = {{"then_branch", body(one)}, {"else_branch", body(one)}};
    return findings_of(model);
  };
  CHECK(with_branch(deep) == "");
  deep.initializers.clear();
  branch.nodes = {
      node("If", {"c"}, {"r"}, {{"then_branch", body(deep)}, {"else_branch", body(deep)}})};
  CHECK_THAT(with_branch(branch), Catch::Contains("names 'h' in xs, which depends on 'w'"));
  branch.nodes.clear();
  branch.outputs = {value("w")};
  CHECK_THAT(with_branch(branch), Catch::Contains("names 'h' in xs, which depends on 'w'"));
}

TEST_CASE("optimizers take whole groups of tensors") {
  auto model = sample_training_model();
  auto& nodes = model.training[0].algorithm->nodes;
  model.graph.initializers.push_back(initializer("r", {1}));
  const auto momentum = [](std::vector<std::string> inputs, std::vector<std::string> outputs) {
    return node("Momentum", std::move(inputs), std::move(outputs),
                {{"alpha", 0.9F},
                 {"beta", 1.0F},
                 {"mode", std::string("standard")},
                 {"norm_coefficient", 0.0F}},
                training_domain);
  };
  nodes[1] = momentum({"r", "r", "w", "dw", "w"}, {"w_new", "v_new"});
  CHECK(findings_of(model) == "");
  nodes[1] = momentum({"r", "r", "w", "dw"}, {"w_new"});
  expect(model, "has 2 tensors after R and T, not a multiple of 3");
  nodes[1] = momentum({"r", "r", "w", "dw", "w"}, {"w_new", "v_new", "h_new"});
  expect(model, "has 3 outputs, for 3 tensors there are 2");
}

}  // namespace
}  // namespace ondine::test
