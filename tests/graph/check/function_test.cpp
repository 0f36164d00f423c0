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
  reference.ref = std::string("slope");
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

graph::Attribute reference_to(const std::string& name, const std::string& to,
                              graph::AttributeKind kind) {
  graph::Attribute out;
  out.name = name;
  out.kind = kind;
  out.ref = to;
  return out;
}

TEST_CASE("a node has one or more outputs, whatever it calls") {
  auto model = sample_function_model();
  model.graph.nodes.push_back(node("double_it", {"x"}, {}, {}, "local"));
  expect(model, "('double_it') has no output, a node has one or more");
  model = sample_function_model();
  model.functions[0].nodes.push_back(node("double_it", {"a"}, {}, {}, "local"));
  expect(model, "has no output");
  model = sample_model();
  model.graph.nodes.push_back(node("LSTM", {"x", "x", "x"}, {}));
  expect(model, "has no output");
}

TEST_CASE("a call gives an attribute of the type that the function's body uses it as") {
  auto model = sample_function_model();
  model.functions[0].attributes = {"slope"};
  model.functions[0].nodes = {node("LeakyRelu", {"a"}, {"b"},
                                   {reference_to("alpha", "slope", graph::AttributeKind::real)})};
  model.graph.nodes[0].attributes = {{"slope", 0.5F}};
  CHECK(findings_of(model) == "");
  model.graph.nodes[0].attributes = {{"slope", std::int64_t{1}}};
  expect(model, "has attribute 'slope' of type INT, function 'double_it' of 'local' needs FLOAT");
  // A function that hands its own attribute to another one asks for its type, too.
  auto outer = sample_function("outer");
  outer.attributes = {"k"};
  outer.nodes = {node("double_it", {"a"}, {"b"},
                      {reference_to("slope", "k", graph::AttributeKind::integer)}, "local")};
  model.functions.push_back(outer);
  model.graph.nodes = {node("outer", {"x"}, {"y"}, {{"k", 0.5F}}, "local")};
  expect(model, "of type INT, function 'double_it' of 'local' needs FLOAT");
  expect(model, "has attribute 'k' of type FLOAT, function 'outer' of 'local' needs INT");
}

TEST_CASE("an attribute that an operator of the body needs is required of every call") {
  auto model = sample_function_model();
  model.functions[0].attributes = {"type"};
  model.functions[0].nodes = {
      node("Cast", {"a"}, {"b"}, {reference_to("to", "type", graph::AttributeKind::integer)})};
  const std::string lacks = "lacks attribute 'type', which function 'double_it' of 'local' needs";
  expect(model, lacks);
  model.graph.nodes[0].attributes = {{"type", std::int64_t{1}}};
  CHECK(findings_of(model) == "");
  // Required of those who pass it on, unless they have a default.
  auto outer = sample_function("outer");
  outer.attributes = {"k"};
  outer.nodes = {node("double_it", {"a"}, {"b"},
                      {reference_to("type", "k", graph::AttributeKind::integer)}, "local")};
  model.functions.insert(model.functions.begin(), outer);
  model.graph.nodes = {node("outer", {"x"}, {"y"}, {}, "local")};
  expect(model, "lacks attribute 'k', which function 'outer' of 'local' needs");
  model.functions[0].attributes.clear();
  model.functions[0].defaults = {{"k", std::int64_t{1}}};
  CHECK(findings_of(model) == "");
  model.functions[0].defaults.clear();
  model.functions[0].nodes[0].attributes.clear();
  expect(model, lacks);
  // A default of its own is enough, too.
  model.functions[1].attributes.clear();
  model.functions[1].defaults = {{"type", std::int64_t{1}}};
  CHECK(findings_of(model) == "");
}

TEST_CASE("an attribute needed in a branch of the body is required of every call") {
  auto model = sample_function_model();
  graph::GraphDef branch;
  branch.name = "branch";
  branch.nodes = {
      node("Cast", {"a"}, {"r"}, {reference_to("to", "type", graph::AttributeKind::integer)})};
  branch.outputs = {value("r")};
  model.functions[0].attributes = {"type"};
  model.functions[0].inputs = {"a", "c"};
  model.functions[0].nodes = {
      node("If", {"c"}, {"b"}, {{"then_branch", body(branch)}, {"else_branch", body(branch)}})};
  model.graph.inputs.push_back(value("c", {}, DType::boolean));
  model.graph.nodes[0].inputs = {"x", "c"};
  expect(model, "lacks attribute 'type'");
}

TEST_CASE("a function relies on one version of a domain") {
  auto model = sample_function_model();
  model.functions[0].opsets.push_back({"ai.onnx", 20});
  expect(model,
         "function 'double_it' of 'local' imports versions 21 and 20 of operator set "
         "'ai.onnx', only one is allowed");
  model.functions[0].opsets.back().version = 21;
  CHECK(findings_of(model) == "");
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

TEST_CASE("every graph of a model is measured with its functions inlined, the step with main") {
  auto model = sample_training_model();
  model.opsets.push_back({"local", 1});
  model.functions = {sample_function(), sample_function("twice")};
  model.functions[1].nodes = {node("double_it", {"a"}, {"h"}, {}, "local"),
                              node("double_it", {"h"}, {"b"}, {}, "local")};
  auto& info = model.training[0];
  info.initialization = graph::GraphDef();
  info.initialization->name = "start";
  info.initialization->nodes = {node("Constant", {}, {"c"}, {{"value_float", 1.0F}}),
                                node("twice", {"c"}, {"w_start"}, {}, "local")};
  info.initialization->outputs = {value("w_start", {})};
  info.algorithm->nodes.push_back(node("twice", {"dw"}, {"unread"}, {}, "local"));
  // One node in main, 3 to initialize, 2 + 2 in the step, which comes on top of main.
  Limits limits;
  limits.nodes = 5;
  limits.call_depth = 2;
  CHECK_THAT(findings_of(model, limits), !Contains("inlined") && !Contains("deep"));
  limits.nodes = 4;
  CHECK_THAT(findings_of(model, limits),
             Contains("the algorithm graph of training_info 0 has 5 nodes with its functions "
                      "inlined, the limit is 4") &&
                 !Contains("initialization graph"));
  limits.nodes = 2;
  expect(model,
         "the initialization graph of training_info 0 has 3 nodes with its functions "
         "inlined, the limit is 2",
         limits);
  limits.nodes = 5;
  limits.call_depth = 1;
  for (const std::string graph : {"initialization", "algorithm"}) {
    expect(model,
           "the " + graph + " graph of training_info 0 calls functions 2 deep, the limit is 1",
           limits);
  }
}

TEST_CASE("a function that only a training graph calls needs its operators") {
  for (const bool initializes : {false, true}) {
    auto model = sample_training_model();
    model.opsets.push_back({"local", 1});
    model.functions = {sample_function("unused"), sample_function()};
    model.functions[0].nodes[0].op = "Frobnicate";
    model.functions[1].nodes = {node("unused", {"a"}, {"b"}, {}, "local")};
    CHECK_THAT(findings_of(model), !Contains("Frobnicate"));
    auto& info = model.training[0];
    const auto call = [](const std::string& input) {
      return node("double_it", {input}, {"called"}, {}, "local");
    };
    if (initializes) {
      info.initialization = graph::GraphDef();
      info.initialization->name = "start";
      info.initialization->nodes = {node("Constant", {}, {"c"}, {{"value_float", 1.0F}}),
                                    call("c")};
    } else {
      info.algorithm->nodes.push_back(call("dw"));
    }
    expect(model, "missing operator: 'Frobnicate'");
  }
}

TEST_CASE("a function that calls itself directly is named alone") {
  auto model = sample_function_model();
  model.functions[0].nodes = {node("double_it", {"a"}, {"b"}, {}, "local")};
  CHECK_THAT(findings_of(model),
             Contains("function 'double_it' of 'local' calls itself") && !Contains("through"));
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
