#include <catch2/catch.hpp>

#include "tests/graph/check/sample_model.h"

namespace ondine::test {
namespace {

using Catch::Contains;
using graph::ModelDef;

void expect(const ModelDef& model, const std::string& text, const Limits& limits = {}) {
  CHECK_THAT(findings_of(model, limits), Contains(text));
}

TEST_CASE("functions are unique by domain, name and overload") {
  auto model = sample_function_model();
  model.functions.push_back(sample_function());
  expect(model, "function 'double_it' of 'local' is defined twice");
  model.functions[1].overload = "other";
  CHECK(findings_of(model) == "");
}

TEST_CASE("a function sees only its own names") {
  auto model = sample_function_model();
  model.functions[0].nodes = {node("Add", {"a", "w"}, {"b"})};
  expect(model, "reads 'w', which is not defined, in function 'double_it'");
  model = sample_function_model();
  model.functions[0].outputs = {"c"};
  expect(model, "has output 'c', which is not defined");
  model = sample_function_model();
  model.functions[0].inputs = {"a", "a"};
  expect(model, "has duplicate input 'a'");
  model = sample_function_model();
  model.functions[0].opsets.clear();
  expect(model, "operator set 'ai.onnx', which its function does not import");
}

TEST_CASE("calls pass no more inputs than the function has and may omit the last ones") {
  auto model = sample_function_model();
  model.functions[0].inputs = {"a", "unused"};
  CHECK(findings_of(model) == "");
  model.graph.nodes[0].inputs = {"x", "w", "w"};
  expect(model, "has 3 inputs, function 'double_it' of 'local' has 2");
  model = sample_function_model();
  model.graph.nodes[0].outputs = {"y", "z"};
  expect(model, "has 2 outputs");
  model = sample_function_model();
  model.graph.nodes[0].attributes = {{"k", 1.0F}};
  expect(model, "has attribute 'k', which function 'double_it' of 'local' does not have");
}

TEST_CASE("attribute references name attributes of the function, in the function only") {
  auto model = sample_function_model();
  graph::Attribute reference;
  reference.name = "alpha";
  reference.kind = graph::AttributeKind::real;
  reference.ref = "slope";
  model.functions[0].nodes = {node("LeakyRelu", {"a"}, {"b"}, {reference})};
  expect(model, "refers to 'slope', which its function does not have");
  model.functions[0].attributes = {"slope"};
  CHECK(findings_of(model) == "");
  model.functions[0].attributes.clear();
  model.functions[0].defaults = {{"slope", std::int64_t{1}}};
  expect(model, "it refers to 'slope' of type INT");
  model = sample_model();
  model.graph.nodes = {node("LeakyRelu", {"x"}, {"y"}, {reference})};
  expect(model, "outside of any function");
}

TEST_CASE("functions do not call themselves, directly, through others or in branches") {
  auto model = sample_function_model();
  model.functions.push_back(sample_function("other"));
  model.functions[0].nodes = {node("other", {"a"}, {"b"}, {}, "local")};
  CHECK(findings_of(model) == "");
  graph::GraphDef branch;
  branch.nodes = {node("double_it", {"a"}, {"r"}, {}, "local")};
  branch.outputs = {value("r")};
  model.functions[1].nodes = {
      node("Cast", {"a"}, {"c"}, {{"to", std::int64_t{9}}}),
      node("If", {"c"}, {"b"}, {{"then_branch", body(branch)}, {"else_branch", body(branch)}})};
  expect(model, "function 'double_it' of 'local' calls itself through function 'other'");
}

TEST_CASE("nodes of inlined functions are counted without inlining") {
  auto model = sample_function_model();
  for (int i = 0; i < 62; ++i) {
    auto next = sample_function("f" + std::to_string(i));
    const auto callee = i == 0 ? "double_it" : "f" + std::to_string(i - 1);
    next.nodes = {node(callee, {"a"}, {"h"}, {}, "local"), node(callee, {"h"}, {"b"}, {}, "local")};
    model.functions.push_back(next);
  }
  model.graph.nodes[0].op = "f3";
  CHECK(findings_of(model) == "");
  model.graph.nodes[0].op = "f29";
  expect(model, "has 1073741824 nodes with its functions inlined");
  model.graph.nodes[0].op = "f61";
  expect(model, "has more than 1152921504606846976 nodes");
  Limits limits;
  limits.call_depth = 10;
  model.graph.nodes[0].op = "f11";
  expect(model, "calls functions 13 deep, the limit is 10", limits);
}

TEST_CASE("missing operators of functions that are never called are not reported") {
  auto model = sample_function_model();
  model.functions.push_back(sample_function("unused"));
  model.functions[1].nodes[0].op = "Frobnicate";
  CHECK(findings_of(model) == "");
  model.functions[0].nodes = {node("unused", {"a"}, {"b"}, {}, "local")};
  expect(model, "missing operator: 'Frobnicate'");
}

}  // namespace
}  // namespace ondine::test
