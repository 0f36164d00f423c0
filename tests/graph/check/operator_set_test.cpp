#include "graph/check/operator_set.h"

#include <catch2/catch.hpp>

#include "tests/graph/check/sample_model.h"

namespace ondine::test {
namespace {

using Catch::Contains;
using graph::FunctionDef;
using graph::OperatorSetDef;
using graph::Undefined;

OperatorSetDef sample_set() {
  OperatorSetDef set;
  set.magic = "ONNXOPSET";
  set.ir_version = 10;
  set.domain = "local";
  set.version = 2;
  set.operators = {{"Fold", 1, true, ""}, {"Bend", 2, false, ""}};
  set.functions = {sample_function(), sample_function("again")};
  set.functions[0].opsets = {{"", 21}};
  set.functions[1].opsets = {{"", 21}, {"local", 2}};
  set.functions[1].nodes = {node("double_it", {"a"}, {"b"}, {}, "local")};
  return set;
}

std::string texts(const graph::Findings& findings) {
  std::string out;
  for (const auto& line : findings.texts()) out += line + "\n";
  return out;
}

std::string findings_of(const OperatorSetDef& set, const std::vector<FunctionDef>& others = {},
                        const Limits& limits = {}, Undefined undefined = Undefined::finding) {
  graph::Findings findings;
  check_operator_set(set, others, undefined, standard_catalogue(), limits, findings);
  return texts(findings);
}

TEST_CASE("a valid operator set has no findings") { CHECK(findings_of(sample_set()) == ""); }

TEST_CASE("the header of an operator set has magic, IR version and version") {
  auto set = sample_set();
  set.magic = "ONNXOPSETS";
  CHECK(findings_of(set) == "magic is 'ONNXOPSETS', that of an operator set is 'ONNXOPSET'\n");
  set.magic.clear();
  CHECK(findings_of(set) == "magic is '', that of an operator set is 'ONNXOPSET'\n");
  set = sample_set();
  set.ir_version = 0;
  CHECK(findings_of(set) == "ir_version is 0, supported versions are 3 to 14\n");
  set.ir_version = 15;
  CHECK_THAT(findings_of(set), Contains("ir_version is 15"));
  set = sample_set();
  set.operators.clear();
  set.functions.clear();
  set.version = 0;
  CHECK(findings_of(set) == "opset_version is 0, versions of operator sets count from 1\n");
}

TEST_CASE("operators of a set have unique names and a version of the set") {
  auto set = sample_set();
  set.operators[1].name = "Fold";
  CHECK(findings_of(set) == "operator 'Fold' is declared twice\n");
  set.operators[1].name = "";
  CHECK(findings_of(set) == "an operator has no op_type\n");
  set = sample_set();
  set.operators[0].since_version = 3;
  CHECK(findings_of(set) ==
        "operator 'Fold' has since_version 3, it must be from 1 to the opset_version, 2\n");
  set.operators[0].since_version = 0;
  CHECK_THAT(findings_of(set), Contains("has since_version 0"));
  set = sample_set();
  set.operators[0].name = "two words";
  CHECK(findings_of(set) == "operator 'two words' has a name that is no C identifier\n");
  graph::Findings lenient(graph::Rigor::lenient);
  check_operator_set(set, {}, Undefined::finding, standard_catalogue(), {}, lenient);
  CHECK(lenient.empty());
  CHECK(lenient.warnings().size() == 1);
}

TEST_CASE("a set of the standard's domains declares what the standard published") {
  OperatorSetDef set = sample_set();
  set.domain = "";
  set.version = 14;
  set.functions.clear();
  set.operators = {{"Relu", 14, true, ""}, {"Add", 13, true, ""}};
  CHECK(findings_of(set) == "");
  set.operators[0].since_version = 12;
  CHECK(findings_of(set) ==
        "operator 'Relu' has since_version 12, version 12 of 'ai.onnx' did not introduce it\n");
  set.operators = {{"Fold", 1, true, ""}};
  CHECK_THAT(findings_of(set), Contains("version 1 of 'ai.onnx' did not introduce it"));
  set.operators.clear();
  set.version = 1000;
  CHECK_THAT(findings_of(set),
             Contains("opset_version of 'ai.onnx' is 1000, the newest supported"));
}

TEST_CASE("functions of a set are of its domain and unique among functions and operators") {
  auto set = sample_set();
  set.functions[0].domain = "other";
  CHECK_THAT(findings_of(set), Contains("function 'double_it' is of 'other', the operator set is "
                                        "'local'"));
  set.functions[0].domain = "";
  CHECK_THAT(findings_of(set), Contains("function 'double_it' is of 'ai.onnx'"));
  set = sample_set();
  set.functions.push_back(set.functions[0]);
  CHECK(findings_of(set) == "function 'double_it' of 'local' is defined twice\n");
  set.functions[2].overload = "other";
  CHECK(findings_of(set) == "");
  set = sample_set();
  set.operators[0].name = "again";
  CHECK(findings_of(set) == "function 'again' has the name of an operator of the set\n");
  set = sample_set();
  set.functions[0].name = "";
  CHECK_THAT(findings_of(set), Contains("a function has no name"));
}

TEST_CASE("bodies of a set's functions are checked as those of a model") {
  auto set = sample_set();
  set.functions[0].nodes[0].inputs = {"a", "c"};
  CHECK_THAT(findings_of(set),
             Contains("reads 'c', which is not defined, in function 'double_it'"));
  set = sample_set();
  set.functions[1].opsets = {{"", 21}};
  CHECK_THAT(findings_of(set),
             Contains("is of operator set 'local', which its function does not import"));
  set = sample_set();
  set.functions[0].opsets = {{"", 1000}};
  CHECK_THAT(findings_of(set), Contains("imports version 1000 of operator set 'ai.onnx'"));
  set = sample_set();
  set.functions[0].opsets = {{"", 21}, {"", 20}};
  CHECK_THAT(findings_of(set), Contains("only one is allowed"));
  set = sample_set();
  set.functions[0].opsets.push_back({"local", 2});
  set.functions[0].nodes = {node("again", {"a"}, {"b"}, {}, "local")};
  CHECK_THAT(findings_of(set), Contains("calls itself through"));
  Limits limits;
  limits.functions = 1;
  CHECK_THAT(findings_of(sample_set(), {}, limits), Contains("functions, the limit is 1"));
}

TEST_CASE("what functions of a set call is a function, an operator or of another set") {
  auto set = sample_set();
  set.functions[0].opsets.push_back({"elsewhere", 4});
  set.functions[0].nodes = {node("turn", {"a"}, {"b"}, {}, "elsewhere")};
  CHECK_THAT(findings_of(set), Contains("missing operator: 'turn' of 'elsewhere' version 4"));
  CHECK(findings_of(set, {}, {}, Undefined::ignored) == "");
  FunctionDef turn = sample_function("turn");
  turn.domain = "elsewhere";
  CHECK(findings_of(set, {turn}) == "");
}

}  // namespace
}  // namespace ondine::test
