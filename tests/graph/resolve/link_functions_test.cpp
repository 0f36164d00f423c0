#include "graph/resolve/link_functions.h"

#include <catch2/catch.hpp>

#include "tests/graph/check/sample_model.h"

namespace ondine::test {
namespace {

using Catch::Contains;
using graph::AvailableSet;
using graph::LinkFrom;
using graph::ModelDef;

AvailableSet set_of(const std::string& name, std::int64_t version,
                    std::vector<graph::FunctionDef> functions,
                    const std::string& domain = "local") {
  AvailableSet set;
  set.name = "set '" + name + "'";
  set.def.ir_version = 10;
  set.def.domain = domain;
  set.def.version = version;
  set.def.functions = std::move(functions);
  for (auto& function : set.def.functions) function.domain = domain;
  return set;
}

graph::FunctionDef calling(const std::string& name, const std::string& callee,
                           const std::string& domain = "local", std::int64_t version = 1) {
  graph::FunctionDef function = sample_function(name);
  function.opsets = {{"", 21}, {domain, version}};
  function.nodes = {node(callee, {"a"}, {"b"}, {}, domain)};
  return function;
}

// y = OP(x) of version 1 of "local".
ModelDef calling_model(const std::string& op) {
  ModelDef model = sample_model();
  model.opsets.push_back({"local", 1});
  model.graph.nodes = {node(op, {"x"}, {"y"}, {}, "local")};
  return model;
}

std::string link(ModelDef& model, const std::vector<AvailableSet>& sets,
                 LinkFrom from = LinkFrom::graphs) {
  graph::Findings findings;
  link_functions(model, sets, standard_catalogue(), from, findings);
  std::string out;
  for (const auto& line : findings.texts()) out += line + "\n";
  return out;
}

std::string names(const ModelDef& model) {
  std::string out;
  for (const auto& function : model.functions) out += function.name + " ";
  return out;
}

TEST_CASE("a model gets the functions that it calls, and those that they call, once") {
  const auto set = set_of("a", 1,
                          {calling("deep", "middle"), calling("middle", "double_it"),
                           sample_function(), sample_function("unused")});
  ModelDef model = calling_model("deep");
  model.graph.nodes.push_back(node("double_it", {"x"}, {"z"}, {}, "local"));
  CHECK(link(model, {set}) == "");
  CHECK(names(model) == "deep double_it middle ");
  CHECK(findings_of(model) == "");
  CHECK(link(model, {set}) == "");
  CHECK(model.functions.size() == 3);
}

TEST_CASE("calls in branches and in training graphs are linked") {
  ModelDef model = sample_training_model();
  model.opsets.push_back({"local", 1});
  model.training[0].algorithm->nodes.push_back(node("again", {"w"}, {"u"}, {}, "local"));
  graph::GraphDef branch;
  branch.outputs = {value("r")};
  branch.nodes = {node("double_it", {"x"}, {"r"}, {}, "local")};
  model.graph.nodes.push_back(
      node("If", {"c"}, {"z"}, {{"then_branch", body(branch)}, {"else_branch", body(branch)}}));
  CHECK(link(model, {set_of("a", 1, {sample_function(), sample_function("again")})}) == "");
  CHECK(names(model) == "double_it again ");
}

TEST_CASE("functions come from the set of the version that is imported") {
  auto other = sample_function();
  other.nodes = {node("Sub", {"a", "a"}, {"b"})};
  const std::vector<AvailableSet> sets{set_of("one", 1, {sample_function()}),
                                       set_of("two", 2, {other})};
  ModelDef model = calling_model("double_it");
  CHECK(link(model, sets) == "");
  CHECK(model.functions[0].nodes[0].op == "Add");
  model = calling_model("double_it");
  model.opsets.push_back({"local", 2});
  CHECK(link(model, sets) == "");
  CHECK(model.functions[0].nodes[0].op == "Sub");
  // The highest version that has it, but not past a version whose set is not there.
  model = calling_model("double_it");
  model.opsets.push_back({"local", 2});
  CHECK(link(model, {sets[0], set_of("two", 2, {})}) == "");
  CHECK(model.functions[0].nodes[0].op == "Add");
  model = calling_model("double_it");
  model.opsets.push_back({"local", 2});
  CHECK(link(model, {sets[0]}) ==
        "node 'y' ('double_it') is of operator set 'local' version 2, set 'one' is version 1\n");
  CHECK(model.functions.empty());
}

TEST_CASE("functions of the model and operators of the library come before those of sets") {
  ModelDef model = sample_function_model();
  model.functions[0].nodes = {node("again", {"a"}, {"b"}, {}, "local")};
  auto other = sample_function();
  other.nodes = {node("Sub", {"a", "a"}, {"b"})};
  CHECK(link(model, {set_of("a", 1, {other, calling("again", "double_it")})}) == "");
  CHECK(names(model) == "double_it again ");
  CHECK(model.functions[0].nodes[0].op == "again");
  // The model's function and that of the set call each other.
  CHECK_THAT(findings_of(model), Contains("calls itself"));
  model = sample_model();
  const auto standard = set_of("s", 21, {sample_function("Mul")}, "");
  CHECK(link(model, {standard}) == "");
  CHECK(model.functions.empty());
}

TEST_CASE("two sets of one domain and version must define a function alike") {
  auto other = sample_function();
  other.nodes = {node("Sub", {"a", "a"}, {"b"})};
  ModelDef model = calling_model("double_it");
  CHECK(link(model, {set_of("a", 1, {sample_function()}), set_of("b", 1, {other})}) ==
        "function 'double_it' of 'local' differs in set 'a' and set 'b', which both are version "
        "1\n");
  model = calling_model("double_it");
  auto documented = sample_function();
  documented.doc = "a + a";
  CHECK(link(model, {set_of("a", 1, {sample_function()}), set_of("b", 1, {documented})}) == "");
  CHECK(model.functions.size() == 1);
}

TEST_CASE("one function in two versions cannot be held by a model") {
  auto second = sample_function();
  second.nodes = {node("Sub", {"a", "a"}, {"b"})};
  const std::vector<AvailableSet> sets{
      set_of("one", 1, {sample_function()}), set_of("two", 2, {second}),
      set_of("user", 5, {calling("use", "double_it", "local", 2)}, "other")};
  ModelDef model = calling_model("double_it");
  model.opsets.push_back({"other", 5});
  model.graph.nodes.push_back(node("use", {"x"}, {"z"}, {}, "other"));
  CHECK(link(model, sets) ==
        "node 'b' ('double_it') calls function 'double_it' of 'local' of version 2 (set 'two'), "
        "another node that of version 1 (set 'one'); a model holds one function of a name\n");
}

TEST_CASE("a model imports the domains of the functions it gets, and has their IR version") {
  auto function = sample_function("use");
  function.opsets = {{"", 21}, {"deeper", 7}};
  function.nodes = {node("double_it", {"a"}, {"b"}, {}, "deeper")};
  auto set = set_of("a", 1, {function});
  set.def.ir_version = 12;
  ModelDef model = calling_model("use");
  model.ir_version = 4;
  CHECK(link(model, {set, set_of("b", 7, {sample_function()}, "deeper")}) == "");
  CHECK(model.ir_version == 12);
  REQUIRE(model.opsets.size() == 4);
  CHECK(model.opsets[3].domain == "deeper");
  CHECK(model.opsets[3].version == 7);
  model = calling_model("Mul");
  model.graph.nodes[0].domain = "";
  model.ir_version = 4;
  CHECK(link(model, {set}) == "");
  CHECK(model.ir_version == 4);
}

TEST_CASE("a function that no set has is named with the set that was looked in") {
  auto set = set_of("a", 1, {sample_function()});
  set.def.operators = {{"Fold", 1, true, ""}};
  ModelDef model = calling_model("fold");
  CHECK(link(model, {set}) ==
        "node 'y' ('fold') needs 'fold' of 'local' version 1, which set 'a' does not have\n");
  model = calling_model("Fold");
  CHECK(link(model, {set}) ==
        "node 'y' ('Fold') needs 'Fold' of 'local' version 1, which set 'a' declares without a "
        "function\n");
  model = calling_model("fold");
  model.graph.nodes[0].domain = "unknown";
  CHECK(link(model, {set}) == "");
}

TEST_CASE("functions of sets that call each other are linked without end") {
  ModelDef model = calling_model("a");
  CHECK(link(model, {set_of("s", 1, {calling("a", "b"), calling("b", "a")})}) == "");
  CHECK(names(model) == "a b ");
  CHECK_THAT(findings_of(model), Contains("calls itself"));
}

TEST_CASE("functions of a model that nothing calls are linked when asked for") {
  ModelDef model = sample_function_model();
  model.functions.push_back(calling("user", "again"));
  const auto set = set_of("a", 1, {sample_function("again")});
  ModelDef copy = model;
  CHECK(link(copy, {set}) == "");
  CHECK(copy.functions.size() == 2);
  CHECK(link(model, {set}, LinkFrom::functions) == "");
  CHECK(names(model) == "double_it user again ");
}

}  // namespace
}  // namespace ondine::test
