// Attributes in the body of a function: the call gives them, leaves them out or passes them on.
#include <array>
#include <catch2/catch.hpp>

#include <ondine/model.h>

#include "tests/support/models.h"
#include "tests/support/op_harness.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

namespace {

constexpr const char* training_domain = "ai.onnx.preview.training";

Attribute reference(const std::string& name, const std::string& to,
                    AttributeKind kind = AttributeKind::real) {
  Attribute out;
  out.name = name;
  out.kind = kind;
  out.ref = to;
  return out;
}

FunctionDef function(const std::string& name, std::vector<NodeDef> nodes,
                     std::vector<std::string> attributes, Attributes defaults = {}) {
  FunctionDef out;
  out.name = name;
  out.domain = "local";
  out.inputs = {"a"};
  out.outputs = {"b"};
  out.opsets = {{"", 18}, {"local", 1}};
  out.nodes = std::move(nodes);
  out.attributes = std::move(attributes);
  out.defaults = std::move(defaults);
  return out;
}

NodeDef call(const std::string& name, Attributes attributes = {}, const std::string& input = "a",
             const std::string& output = "b") {
  return node(name, {input}, {output}, std::move(attributes), "local");
}

// leaky(a) with a default of 0.5, outer(a) that passes its own `slope` on to it.
ModelDef passing_model(Attributes given = {}) {
  ModelDef model;
  model.ir_version = 10;
  model.opsets = {{"", 18}, {"local", 1}, {training_domain, 1}};
  model.graph.name = "main";
  model.graph.inputs = {tensor_value("x", DType::float32, {std::int64_t{2}})};
  model.graph.outputs = {tensor_value("y", DType::float32, {std::int64_t{2}})};
  model.graph.nodes = {call("outer", std::move(given), "x", "y")};
  model.functions = {
      function("leaky", {node("LeakyRelu", {"a"}, {"b"}, {reference("alpha", "alpha")})}, {},
               {{"alpha", 0.5F}}),
      function("outer", {call("leaky", {reference("alpha", "slope")})}, {"slope"})};
  return model;
}

Tensor pair_of(float first, float second) { return Tensor::of<float>({2}, {first, second}); }

Tensor y_of(const ModelDef& model) {
  return Model::load(encode(model)).infer({{"x", pair_of(-2, 3)}})[0].second.tensor();
}

// then_branch and else_branch of an If inside of `outer`, both a call of leaky with its slope.
NodeDef branches(const std::string& attribute) {
  GraphDef branch;
  branch.name = "branch";
  branch.nodes = {call("leaky", {reference("alpha", attribute)}, "a", "r")};
  ValueDef result;
  result.name = "r";
  branch.outputs = {result};
  const auto shared = std::make_shared<const GraphDef>(branch);
  return node("If", {"c"}, {"b"}, {{"then_branch", shared}, {"else_branch", shared}});
}

}  // namespace

TEST_CASE("an attribute passed on that the caller left out leaves the callee's default") {
  check_close(y_of(passing_model()), pair_of(-1, 3));
  check_close(y_of(passing_model({{"slope", 0.25F}})), pair_of(-0.5F, 3));
}

TEST_CASE("an attribute that is left out at every level leaves the operator's own default") {
  ModelDef model = passing_model();
  model.functions[0].attributes = {"alpha"};
  model.functions[0].defaults.clear();
  check_close(y_of(model), pair_of(-0.02F, 3));
}

TEST_CASE("an attribute left out is passed on through any number of functions") {
  ModelDef model = passing_model();
  model.functions.push_back(function("third", {call("outer", {reference("slope", "k")})}, {"k"}));
  model.functions.push_back(function("fourth", {call("third", {reference("k", "m")})}, {"m"}));
  model.graph.nodes = {call("fourth", {}, "x", "y")};
  check_close(y_of(model), pair_of(-1, 3));
  model.graph.nodes = {call("fourth", {{"m", 4.0F}}, "x", "y")};
  check_close(y_of(model), pair_of(-8, 3));
  // A default on the way comes first.
  model.graph.nodes = {call("fourth", {}, "x", "y")};
  model.functions[2].attributes.clear();
  model.functions[2].defaults = {{"k", 2.0F}};
  check_close(y_of(model), pair_of(-4, 3));
}

TEST_CASE("an attribute left out is left out in the branches of a function, too") {
  ModelDef model = passing_model();
  model.functions[1].nodes = {
      node("Constant", {}, {"c"}, {{"value", Tensor::of<bool>({}, std::array{true})}}),
      branches("slope")};
  check_close(y_of(model), pair_of(-1, 3));
  model.graph.nodes = {call("outer", {{"slope", 0.25F}}, "x", "y")};
  check_close(y_of(model), pair_of(-0.5F, 3));
}

TEST_CASE("training takes the derivative with the callee's default") {
  ModelDef model = passing_model();
  model.graph.initializers = {{"w", pair_of(-1, 1), {}, {}}};
  model.graph.nodes = {node("Mul", {"x", "w"}, {"h"}), call("outer", {}, "h", "y")};
  TrainingInfoDef& info = model.training.emplace_back();
  info.algorithm.emplace();
  info.algorithm->name = "step";
  info.algorithm->nodes = {
      node("Gradient", {"w"}, {"dw"},
           {{"xs", std::vector<std::string>{"w"}}, {"y", std::string("y")}}, training_domain),
      node("Sub", {"w", "dw"}, {"w_new"})};
  info.algorithm->outputs = {tensor_value("w_new", DType::float32, {std::int64_t{2}})};
  info.update_binding = {{"w", "w_new"}};
  Model loaded = Model::load(encode(model));
  loaded.train_step({{"x", pair_of(2, 3)}});
  // h = [-2, 3]; dy/dw = [0.5 * 2, 3].
  check_close(loaded.get_state("w"), pair_of(-2, -2));
}
