#include "graph/check/structure.h"

#include <catch2/catch.hpp>

#include "tests/graph/check/sample_model.h"

namespace ondine::test {
namespace {

using Catch::Contains;
using graph::ModelDef;

void expect(const ModelDef& model, const std::string& text, const Limits& limits = {}) {
  CHECK_THAT(findings_of(model, limits), Contains(text));
}

TEST_CASE("sound models have no findings") {
  CHECK(findings_of(sample_model()) == "");
  CHECK(findings_of(sample_training_model()) == "");
  CHECK(findings_of(sample_function_model()) == "");
}

TEST_CASE("versions and operator sets are bounded") {
  auto model = sample_model();
  model.ir_version = 2;
  expect(model, "ir_version is 2");
  model = sample_model();
  model.opsets[0].version = 29;
  expect(model, "version 29 of operator set 'ai.onnx'");
  model = sample_model();
  model.opsets[0].version = 0;
  expect(model, "version 0 of operator set 'ai.onnx'");
  model = sample_model();
  model.opsets.push_back({"unheard.of", 7});
  CHECK(findings_of(model) == "");
}

TEST_CASE("of several versions of a domain that a model imports the highest counts") {
  auto model = sample_model();
  // HardSwish comes with version 14.
  model.graph.nodes = {node("HardSwish", {"x"}, {"y"})};
  model.opsets = {{"", 21}, {"ai.onnx", 13}};
  CHECK(findings_of(model) == "");
  model.opsets = {{"", 13}, {"ai.onnx", 21}};
  CHECK(findings_of(model) == "");
  model.opsets = {{"", 13}, {"", 12}};
  expect(model, "version 13");
  model.opsets = {{"", 21}, {"", 29}};
  expect(model, "version 29 of operator set 'ai.onnx'");
}

TEST_CASE("values have one definition, before they are read") {
  auto model = sample_model();
  model.graph.nodes = {node("Relu", {"h"}, {"y"}), node("Mul", {"x", "w"}, {"h"})};
  expect(model, "node 'y' ('Relu') reads 'h' before node 'h' ('Mul') defines it");
  model.graph.nodes = {node("Relu", {"nothing"}, {"y"})};
  expect(model, "reads 'nothing', which is not defined");
  model.graph.nodes = {node("Relu", {"x"}, {"w"}), node("Relu", {"w"}, {"y"})};
  expect(model, "defines 'w', the name of an initializer");
  model = sample_model();
  model.graph.initializers.push_back(initializer("w", {3, 4}));
  expect(model, "initializer 'w' is defined twice");
  model = sample_model();
  model.graph.outputs.push_back(value("z"));
  expect(model, "graph output 'z' is not defined");
}

TEST_CASE("inputs and outputs of the main graph are typed and ranked") {
  auto model = sample_model();
  model.graph.outputs[0].type = {};
  expect(model, "graph output 'y' has no type");
  model = sample_model();
  model.graph.inputs[0].type.dims.reset();
  expect(model, "graph input 'x' has no shape");
  model.ir_version = 3;
  CHECK(findings_of(model) == "");
  model.graph.inputs[0].type.dtype = DType::undefined;
  expect(model, "graph input 'x' has no element type");
}

TEST_CASE("an initializer fits the input that it is the default of") {
  auto model = sample_model();
  model.graph.inputs.push_back(value("w"));
  CHECK(findings_of(model) == "");
  model.graph.inputs[1] = value("w", {std::int64_t{3}});
  expect(model, "initializer 'w' does not match");
  model.graph.inputs[1] = value("w", {std::string("n")}, DType::float64);
  expect(model, "declared as double, it is float");
}

TEST_CASE("nodes have the inputs and outputs of their signature") {
  auto model = sample_model();
  auto& nodes = model.graph.nodes;
  nodes = {node("Mul", {"x"}, {"y"})};
  expect(model, "has 1 inputs, the operator needs at least 2");
  nodes = {node("Mul", {"x", ""}, {"y"})};
  expect(model, "empty name for input 1 ('B')");
  nodes = {node("Relu", {"x", "w"}, {"y"})};
  expect(model, "has 2 inputs, the operator has at most 1");
  nodes = {node("Relu", {"x"}, {"y", "z"})};
  expect(model, "has 2 outputs, the operator has at most 1");
  nodes = {node("Sum", {"x", "", "w"}, {"y"})};
  expect(model, "empty name for input 1 ('data_0')");
  nodes = {node("Clip", {"x", "", ""}, {"y"})};
  CHECK(findings_of(model) == "");
  nodes = {node("", {"x"}, {"y"})};
  expect(model, "names no operator");
}

TEST_CASE("attributes are known, unique, complete and of their type") {
  auto model = sample_model();
  auto& nodes = model.graph.nodes;
  nodes = {node("Concat", {"x", "w"}, {"y"})};
  expect(model, "lacks attribute 'axis'");
  nodes = {node("Concat", {"x", "w"}, {"y"}, {{"axis", 1.0F}})};
  expect(model, "of type FLOAT, the operator needs INT");
  nodes = {
      node("Concat", {"x", "w"}, {"y"}, {{"axis", std::int64_t{0}}, {"axis", std::int64_t{1}}})};
  expect(model, "duplicate attribute 'axis'");
  nodes = {node("Relu", {"x"}, {"y"}, {{"slope", 1.0F}})};
  expect(model, "attribute 'slope', which the operator does not have");
  nodes = {node("Relu", {"x"}, {"y"}, {{"__tool", 1.0F}})};
  CHECK(findings_of(model) == "");
}

TEST_CASE("all missing operators are named in one error") {
  auto model = sample_model();
  model.opsets.push_back({"my.own", 3});
  model.graph.nodes = {node("Foo", {"x"}, {"a"}), node("Bar", {"a"}, {"b"}, {}, "my.own"),
                       node("Foo", {"b"}, {"c"}), node("RotaryEmbedding", {"c", "c", "c"}, {"y"})};
  const auto text = findings_of(model);
  CHECK_THAT(text, Contains("missing operators:"));
  CHECK_THAT(text, Contains("'Foo' of 'ai.onnx' version 21, which does not define it"));
  CHECK_THAT(text, Contains("'Bar' of 'my.own' version 3, an unknown operator set"));
  CHECK_THAT(text, Contains("which defines it from version 23"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);

  model.opsets.push_back({"com.microsoft", 1});
  model.graph.nodes = {node("Sampling", {"x"}, {"y"}, {}, "com.microsoft")};
  expect(model, "'Sampling' of 'com.microsoft' version 1, not among the supported ones");
  model.graph.nodes = {node("Upsample", {"x", "w"}, {"y"})};
  expect(model, "that version 10 of ai.onnx removed");
  model.graph.nodes = {node("Relu", {"x"}, {"y"}, {}, "nobody.imports")};
  expect(model, "operator set 'nobody.imports', which the model does not import");
}

TEST_CASE("subgraphs see outer names, do not shadow them, and do not see names of siblings") {
  auto model = sample_model();
  graph::GraphDef then_branch;
  then_branch.nodes = {node("Mul", {"x", "w"}, {"inner"})};
  then_branch.outputs = {value("inner")};
  graph::GraphDef else_branch;
  else_branch.nodes = {node("Add", {"x", "w"}, {"inner"})};
  else_branch.outputs = {value("inner")};
  const auto with = [&](const graph::GraphDef& otherwise) {
    model.graph.inputs = {value("x"), value("c", {}, DType::boolean)};
    model.graph.nodes = {
        node("If", {"c"}, {"y"},
             {{"then_branch", body(then_branch)}, {"else_branch", body(otherwise)}})};
  };
  with(else_branch);
  CHECK(findings_of(model) == "");
  auto changed = else_branch;
  changed.nodes = {node("Relu", {"x"}, {"w"})};
  changed.outputs = {value("w")};
  with(changed);
  expect(model, "defines 'w', the name of an initializer outside, in graph 'else_branch'");
  changed = else_branch;
  changed.inputs = {value("x")};
  with(changed);
  expect(model, "has a graph 'else_branch' with 1 inputs, the operator needs 0");
  changed = else_branch;
  changed.outputs.push_back(value("x"));
  with(changed);
  expect(model, "branches with 1 and 2 outputs");
  with(else_branch);
  model.graph.nodes.push_back(node("Relu", {"inner"}, {"z"}));
  expect(model, "reads 'inner', which is not defined");
}

TEST_CASE("inputs and initializers of subgraphs may hide outer names, outputs of nodes may not") {
  graph::GraphDef loop;
  loop.name = "loop";
  loop.inputs = {value("i", {}, DType::int64), value("c", {}, DType::boolean), value("x")};
  loop.initializers = {initializer("w", {5, 6})};
  loop.nodes = {node("Identity", {"c"}, {"c_out"}), node("Add", {"x", "w"}, {"v_out"})};
  loop.outputs = {value("c_out", {}, DType::boolean), value("v_out")};
  auto model = sample_model();
  const auto with = [&](const graph::GraphDef& inner) {
    model.graph.nodes = {node("Loop", {"", "", "x"}, {"y"}, {{"body", body(inner)}})};
  };
  with(loop);
  CHECK(findings_of(model) == "");
  // A definition that hides a name is itself visible to the names of nodes.
  loop.nodes[1].outputs = {"w"};
  loop.outputs[1].name = "w";
  with(loop);
  expect(model, "defines 'w', the name of an initializer, in graph 'body'");
  loop.initializers.clear();
  loop.nodes[1].inputs = {"x", "x"};
  with(loop);
  expect(model, "defines 'w', the name of an initializer outside");
}

TEST_CASE("up to IR 3 subgraphs list initializers after their inputs, later not at all") {
  auto model = sample_model();
  graph::GraphDef loop;
  loop.inputs = {value("i", {}, DType::int64), value("c", {}, DType::boolean), value("v"),
                 value("k")};
  loop.initializers = {initializer("k", {1, 1})};
  loop.nodes = {node("Identity", {"c"}, {"c_out"}), node("Add", {"v", "k"}, {"v_out"})};
  loop.outputs = {value("c_out", {}, DType::boolean), value("v_out")};
  model.graph.nodes = {node("Loop", {"", "", "x"}, {"y"}, {{"body", body(loop)}})};
  expect(model, "initializer 'k' has the name of an input of a subgraph");
  model.ir_version = 3;
  CHECK(findings_of(model) == "");
  std::swap(loop.inputs[2], loop.inputs[3]);
  model.graph.nodes = {node("Loop", {"", "", "x"}, {"y"}, {{"body", body(loop)}})};
  expect(model, "input 'v' of a subgraph follows the initializer 'k'");
}

TEST_CASE("bounds hold for nesting, names, ranks and weights") {
  Limits limits;
  limits.subgraph_depth = 2;
  auto inner = body({});
  for (int i = 0; i < 3; ++i) {
    graph::GraphDef around;
    around.nodes = {node("If", {"x"}, {}, {{"then_branch", inner}, {"else_branch", inner}})};
    inner = body(around);
  }
  auto model = sample_model();
  model.graph = *inner;
  expect(model, "nested more than 2 deep", limits);

  limits = {};
  limits.name_length = 8;
  model = sample_model();
  model.graph.nodes[0].name = "a_long_name";
  expect(model, "name 'a_long_name' has 11 bytes", limits);
  limits = {};
  limits.weight_bytes = 7;
  expect(sample_model(), "with tensor 'w' the model has more than", limits);
  limits = {};
  limits.nodes = 0;
  expect(sample_model(), "the main graph has 1 nodes", limits);
  model = sample_model();
  model.graph.inputs[0] = value("x", std::vector<graph::DimDef>(33, std::int64_t{1}));
  expect(model, "graph input 'x' has 33 dimensions");
}

}  // namespace
}  // namespace ondine::test
