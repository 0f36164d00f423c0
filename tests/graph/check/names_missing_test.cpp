// A missing name and a name of nothing are findings of their own, with their place.
#include "graph/check/structure.h"

#include <catch2/catch.hpp>
#include <functional>

#include "tests/graph/check/sample_model.h"

namespace ondine::test {
namespace {

using Catch::Contains;
using graph::ModelDef;

struct Row {
  std::function<ModelDef()> start;
  std::function<void(ModelDef&)> change;
  const char* finding;
};

void add_start(ModelDef& model, const std::vector<graph::ValueDef>& inputs) {
  graph::GraphDef start;
  start.name = "start";
  start.inputs = inputs;
  start.nodes = {node("Identity", {"w"}, {"w_start"})};
  start.outputs = {value("w_start")};
  model.training[0].initialization = std::move(start);
  model.training[0].initialization_binding = {{"w", "w_start"}};
}

}  // namespace

TEST_CASE("what has no name, and lists of names that are empty, are findings") {
  const std::vector<Row> rows{
      {sample_model, [](ModelDef& m) { m.graph.inputs.push_back(value("")); },
       "a graph input has no name"},
      {sample_model, [](ModelDef& m) { m.graph.outputs.push_back(value("")); },
       "a graph output has no name"},
      {sample_model, [](ModelDef& m) { m.graph.initializers.push_back(initializer("", {1})); },
       "an initializer has no name"},
      {sample_model,
       [](ModelDef& m) {
         m.graph.nodes[0].attributes = {{"", std::int64_t{1}}};
       },
       "has an attribute without a name"},
      {sample_model, [](ModelDef& m) { m.graph.nodes[0].inputs[1].clear(); },
       "has an empty name for input 1 ('B'), which the operator needs"},
      {sample_model, [](ModelDef& m) { m.graph.nodes[0].outputs[0].clear(); },
       "has an empty name for output 0 ('C'), which the operator needs"},
      {sample_function_model, [](ModelDef& m) { m.functions[0].name.clear(); },
       "a function has no name"},
      {sample_function_model, [](ModelDef& m) { m.functions[0].inputs.emplace_back(); },
       "has an input without a name"},
      {sample_function_model, [](ModelDef& m) { m.functions[0].inputs.emplace_back("a"); },
       "has duplicate input 'a'"},
      {sample_function_model, [](ModelDef& m) { m.functions[0].outputs.emplace_back(); },
       "has an output without a name"},
      {sample_function_model, [](ModelDef& m) { m.functions[0].outputs.emplace_back("b"); },
       "has duplicate output 'b'"},
      {sample_function_model, [](ModelDef& m) { m.functions[0].outputs.emplace_back("c"); },
       "has output 'c', which is not defined"},
      {sample_function_model, [](ModelDef& m) { m.functions[0].attributes.emplace_back(); },
       "has an attribute without a name"},
      {sample_function_model,
       [](ModelDef& m) {
         m.functions[0].attributes = {"k"};
         m.functions[0].defaults = {{"k", std::int64_t{1}}};
       },
       "has duplicate attribute 'k'"},
      {sample_function_model,
       [](ModelDef& m) {
         graph::Attribute reference{"k", std::int64_t{1}};
         reference.ref = std::string("other");
         m.functions[0].defaults = {reference};
       },
       "has a default of attribute 'k' that is itself a reference"},
      {sample_training_model,
       [](ModelDef& m) {
         graph::NodeDef& gradient = m.training[0].algorithm->nodes[0];
         gradient.inputs.clear();
         gradient.outputs.clear();
         gradient.attributes = {{"xs", std::vector<std::string>{}}, {"y", std::string("y")}};
       },
       "names no tensor in xs"},
      {sample_training_model, [](ModelDef& m) { add_start(m, {value("seed")}); },
       "an initialization graph must not have inputs, this one has 'seed'"},
  };
  for (const Row& row : rows) {
    ModelDef model = row.start();
    REQUIRE(findings_of(model).empty());
    row.change(model);
    CHECK_THAT(findings_of(model), Contains(row.finding));
  }
  ModelDef model = sample_training_model();
  add_start(model, {});
  CHECK(findings_of(model).empty());
}

}  // namespace ondine::test
