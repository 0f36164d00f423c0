#include <functional>

#include <catch2/catch.hpp>

#include "tests/graph/check/sample_model.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

SparseTensorDef sparse(const std::string& name, std::int64_t size) {
  return {name, Tensor::of<float>({1}, {3}), Tensor::of<std::int64_t>({1}, {0}), {size}};
}

// A model whose node "c" has an attribute, beside the weight of two floats.
ModelDef with_attribute(Attribute::Data data, const std::string& attribute) {
  ModelDef model = sample_model();
  NodeDef constant = test::node("Constant", {}, {"c"}, {{attribute, std::move(data)}});
  constant.name = "c";
  model.graph.nodes.push_back(std::move(constant));
  return model;
}

}  // namespace

TEST_CASE("tensors count by their dense size, whether in initializers or in attributes") {
  ModelDef initializers = sample_model();
  initializers.graph.sparse_initializers = {sparse("c", 100)};
  const ModelDef attribute = with_attribute(sparse("c", 100), "sparse_value");
  const ModelDef dense = with_attribute(Tensor(DType::float32, Shape{100}), "value");
  for (const ModelDef& model : {initializers, attribute, dense}) {
    CHECK(findings_of(model) == "");
    CHECK(findings_of(model, {.tensor_bytes = 400}) == "");
    CHECK_THAT(findings_of(model, {.tensor_bytes = 399}),
               Catch::Contains("tensor 'c' of shape [100] is too large"));
    CHECK(findings_of(model, {.weight_bytes = 408}) == "");
    CHECK_THAT(findings_of(model, {.weight_bytes = 407}),
               Catch::Contains("with tensor 'c' the model has more than the limit of 407 bytes"));
  }
}

TEST_CASE("the length of all names is bounded, wherever they stand") {
  const std::string text(9, 'n');
  using Change = std::function<void(ModelDef&)>;
  const auto in_body = [&](GraphDef inner) {
    return [inner = std::move(inner)](ModelDef& m) {
      m.graph.nodes.push_back(
          node("If", {"x"}, {"i"}, {{"then_branch", body(inner)}, {"else_branch", body(inner)}}));
    };
  };
  GraphDef named;
  named.name = text;
  GraphDef with_node;
  with_node.nodes = {node("Relu", {"x"}, {text})};
  const std::vector<Change> changes{
      [&](ModelDef& m) { m.graph.name = text; },
      [&](ModelDef& m) { m.graph.initializers.push_back(initializer(text, {1})); },
      [&](ModelDef& m) { m.graph.sparse_initializers = {sparse(text, 1)}; },
      [&](ModelDef& m) { m.graph.inputs.push_back(value(text)); },
      [&](ModelDef& m) { m.graph.outputs.push_back(value(text)); },
      [&](ModelDef& m) { m.graph.value_infos.push_back(value(text)); },
      [&](ModelDef& m) { m.graph.nodes[0].name = text; },
      [&](ModelDef& m) { m.graph.nodes[0].op = text; },
      [&](ModelDef& m) { m.graph.nodes[0].domain = text; },
      [&](ModelDef& m) { m.graph.nodes[0].inputs[1] = text; },
      [&](ModelDef& m) { m.graph.nodes[0].outputs[0] = text; },
      [&](ModelDef& m) { m = with_attribute(sparse("c", 1), text); },
      in_body(named),
      in_body(with_node),
      [&](ModelDef& m) { m.functions = {sample_function(text)}; },
      [&](ModelDef& m) { (m.functions = {sample_function()})[0].inputs[0] = text; },
      [&](ModelDef& m) { (m.functions = {sample_function()})[0].outputs[0] = text; },
      [&](ModelDef& m) { (m.functions = {sample_function()})[0].attributes = {text}; },
      [&](ModelDef& m) { (m.functions = {sample_function()})[0].nodes[0].name = text; },
      [&](ModelDef& m) {
        m.training = sample_training_model().training;
        m.training[0].algorithm->nodes[0].name = text;
      },
      [&](ModelDef& m) {
        m.training = sample_training_model().training;
        m.training[0].initialization = GraphDef{};
        m.training[0].initialization->name = text;
      },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    CAPTURE(i);
    ModelDef model = sample_model();
    changes[i](model);
    const std::string refused = "name 'nnnnnnnnn' has 9 bytes, the limit is ";
    CHECK_THAT(findings_of(model, {.name_length = 8}), Catch::Contains(refused + "8"));
    CHECK_THAT(findings_of(model, {.name_length = 9}), !Catch::Contains(refused));
  }
}

TEST_CASE("ranks, functions, nesting, nodes and calls may reach their limit, not exceed it") {
  const auto check = [](const ModelDef& model, Limits at, Limits below, const std::string& text) {
    CHECK_THAT(findings_of(model, at), !Catch::Contains(text));
    CHECK_THAT(findings_of(model, below), Catch::Contains(text));
  };
  ModelDef model = with_attribute(Tensor(DType::float32, Shape{1, 1, 1}), "value");
  check(model, {.rank = 3}, {.rank = 2}, "tensor 'c' has 3 dimensions");
  model = sample_function_model();
  model.functions.push_back(sample_function("again"));
  check(model, {.functions = 2}, {.functions = 1}, "the model has 2 functions, the limit is 1");
  check(model, {.call_depth = 1}, {.call_depth = 0}, "calls functions 1 deep, the limit is 0");
  model = sample_model();
  model.graph.nodes.push_back(node("Relu", {"y"}, {"z"}));
  check(model, {.nodes = 2}, {.nodes = 1}, "the main graph has 2 nodes");
  auto inner = body({});
  for (int i = 0; i < 3; ++i) {
    GraphDef around;
    around.nodes = {node("If", {"x"}, {}, {{"then_branch", inner}, {"else_branch", inner}})};
    inner = body(around);
  }
  const std::string deep = "graphs are nested more than 2 deep";
  model.graph = *inner;
  check(model, {.subgraph_depth = 3}, {.subgraph_depth = 2}, deep);
  model = sample_model();
  model.functions = {sample_function()};
  model.functions[0].nodes = inner->nodes;
  check(model, {.subgraph_depth = 3}, {.subgraph_depth = 2}, deep);
  model = sample_training_model();
  model.training[0].algorithm->nodes = inner->nodes;
  check(model, {.subgraph_depth = 3}, {.subgraph_depth = 2}, deep);
  model = sample_training_model();
  model.training[0].initialization = *inner;
  check(model, {.subgraph_depth = 3}, {.subgraph_depth = 2}, deep);
}

TEST_CASE("huge weights are refused, and weights are summed over all graphs") {
  ModelDef model = sample_model();
  model.graph.sparse_initializers = {sparse("c", std::int64_t{1} << 50)};
  CHECK_THAT(findings_of(model),
             Catch::Contains("tensor 'c' of shape [1125899906842624] is too large"));
  model.graph.sparse_initializers = {sparse("c", std::int64_t{1} << 57)};
  CHECK_THAT(findings_of(model), Catch::Contains("more than 2^56 elements"));
  model = sample_training_model();
  model.training[0].algorithm->initializers = {initializer("k", {1, 2, 3})};
  CHECK_THAT(findings_of(model, {.weight_bytes = 20}), !Catch::Contains("bytes of weights"));
  CHECK_THAT(findings_of(model, {.weight_bytes = 19}),
             Catch::Contains("with tensor 'k' the model has more than the limit of 19 bytes"));
  // Only the first one is reported.
  model.training[0].algorithm->initializers.push_back(initializer("l", {1}));
  CHECK_THAT(findings_of(model, {.weight_bytes = 19}), !Catch::Contains("with tensor 'l'"));
}
