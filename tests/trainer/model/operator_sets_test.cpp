// Models loaded with operator-set documents.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include <ondine/gradcheck.h>
#include <ondine/lower.h>
#include <ondine/model.h>
#include <ondine/operator_set.h>
#include <ondine/prepare.h>

#include "proto/import.h"
#include "tests/proto/operator_sets.h"
#include "tests/support/models.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using test::Wire;

namespace {

class Files {
 public:
  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    const std::filesystem::path file = folder_ / name;
    std::ofstream(file, std::ios::binary) << bytes;
    return file;
  }
  std::filesystem::path write(const std::string& name, const graph::ModelDef& def) const {
    const auto bytes = test::encode(def);
    return write(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }

 private:
  test::TemporaryFolder folder_;
};

graph::ValueDef pair_value(const std::string& name) {
  return test::tensor_value(name, DType::float32, {std::int64_t{2}});
}

// y = OP(x) of version 3 of org.example.
graph::ModelDef calling(const std::string& op, graph::Attributes attributes = {}) {
  graph::ModelDef model;
  model.ir_version = 10;
  model.opsets = {{"", 18}, {"org.example", 3}};
  model.graph.name = "main";
  model.graph.inputs = {pair_value("x")};
  model.graph.outputs = {pair_value("y")};
  model.graph.nodes = {test::node(op, {"x"}, {"y"}, std::move(attributes), "org.example")};
  return model;
}

LoadOptions with(std::vector<std::filesystem::path> sets) {
  LoadOptions options;
  options.operator_sets = std::move(sets);
  return options;
}

std::vector<float> run(const Model& model) {
  const Tensor x = Tensor::of<float>({2}, {1, -2});
  const Tensor y = model.infer({{"x", x}})["y"].tensor();
  return {y.values<float>().begin(), y.values<float>().end()};
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a model runs the functions of the operator sets that it is loaded with") {
  const Files files;
  const auto set = files.write("set.onnx", test::sample_set().text());
  const auto model = files.write("model.onnx", calling("quadruple"));
  CHECK(run(Model::load(model, with({set}))) == std::vector<float>{4, -8});
  CHECK_THAT(error_of([&] { Model::load(model); }),
             Catch::Contains("missing operator: 'quadruple' of 'org.example' version 3"));
  const auto scaled = files.write("scaled.onnx", calling("scaled"));
  CHECK(run(Model::load(scaled, with({set}))) == std::vector<float>{3, -6});
  const auto bytes = test::encode(calling("scaled", {{"factor", 0.5F}}));
  CHECK(run(Model::load(bytes, with({set}))) == std::vector<float>{0.5F, -1});
}

TEST_CASE("exported models contain the functions they took from operator sets, and no others") {
  const Files files;
  const auto set = files.write("set.onnx", test::sample_set().text());
  const auto model = files.write("model.onnx", calling("quadruple"));
  Model::load(model, with({set})).export_inference(files / "out.onnx");
  std::filesystem::remove(set);
  CHECK(run(Model::load(files / "out.onnx")) == std::vector<float>{4, -8});
  const graph::ModelDef out = load_model(files / "out.onnx");
  REQUIRE(out.functions.size() == 2);
  CHECK(out.functions[0].name == "quadruple");
  CHECK(out.functions[1].name == "twice");
}

TEST_CASE("derivatives go through functions of operator sets") {
  const Files files;
  const auto set = files.write("set.onnx", test::sample_set().text());
  const auto model = files.write("model.onnx", calling("quadruple"));
  DifferentiateOptions options;
  options.of = "y";
  options.by = {"x"};
  const LoadOptions load = with({set});
  differentiate(model, files / "gradient.onnx", options, load);
  const Tensor x = Tensor::of<float>({2}, {1, -2});
  const Results results = Model::load(files / "gradient.onnx").infer({{"x", x}});
  const Tensor gradient = results["gradient.x"].tensor();
  CHECK(gradient.values<float>()[0] == 4);
  CHECK(gradient.values<float>()[1] == 4);
}

TEST_CASE("models that are prepared, checked and lowered may call functions of operator sets") {
  const Files files;
  const auto set = files.write("set.onnx", test::sample_set().text());
  // y = quadruple(x w), of which w is trained.
  graph::ModelDef def = calling("quadruple");
  def.graph.initializers = {{"w", Tensor::of<float>({2}, {0.5F, 2}), "", {}}};
  def.graph.inputs = {test::tensor_value("x", DType::float32, {std::int64_t{4}, std::int64_t{2}})};
  def.graph.outputs = {test::tensor_value("y", DType::float32, {std::int64_t{4}, std::int64_t{2}})};
  def.graph.nodes[0].inputs = {"xw"};
  def.graph.nodes.insert(def.graph.nodes.begin(), test::node("Mul", {"x", "w"}, {"xw"}));
  const auto model = files.write("model.onnx", def);
  const LoadOptions load = with({set});
  PrepareOptions options;
  options.loss = Loss::mse;
  options.train = {"w"};
  prepare(model, files / "train.onnx", options, load);
  CHECK(check_model(files / "train.onnx").empty());
  // A training model that is not self-contained.
  graph::ModelDef alone = load_model(files / "train.onnx");
  CHECK(alone.functions.size() == 2);
  alone.functions.clear();
  const auto train = files.write("alone.onnx", alone);
  CHECK_FALSE(check_model(train).empty());
  CHECK(check_model(train, load).empty());
  lower(train, files / "step.onnx", {}, load);
  CHECK(load_model(files / "step.onnx").functions.empty());
  const GradientCheck check(train, {}, load);
  CHECK(check.inputs().size() >= 2);
}

TEST_CASE("a function of the model comes before that of an operator set") {
  const Files files;
  const auto set = files.write("set.onnx", test::sample_set().text());
  graph::ModelDef def = calling("quadruple");
  graph::FunctionDef own;
  own.name = "twice";
  own.domain = "org.example";
  own.inputs = {"a"};
  own.outputs = {"b"};
  own.opsets = {{"", 18}};
  own.nodes = {test::node("Neg", {"a"}, {"b"})};
  def.functions = {own};
  // quadruple of the set calls the model's own twice.
  CHECK(run(Model::load(files.write("model.onnx", def), with({set}))) == std::vector<float>{1, -2});
}

TEST_CASE("errors of operator sets name the document") {
  const Files files;
  const auto model = files.write("model.onnx", calling("quadruple"));
  const auto message = [&](const std::string& name, const std::string& bytes) {
    return error_of([&] { Model::load(model, with({files.write(name, bytes)})); });
  };
  CHECK_THAT(message("old.onnx", test::wire_set("org.example", 2, {}).text()),
             Catch::Contains("node 'y' ('quadruple') is of operator set 'org.example' version 3, "
                             "operator set 'old.onnx' is version 2"));
  CHECK_THAT(message("none.onnx", test::wire_set("org.example", 3, {}).text()),
             Catch::Contains("operator set 'none.onnx' does not have"));
  CHECK_THAT(message("text.onnx", "no set"),
             Catch::Contains("operator set 'text.onnx'") && Catch::Contains("but a text"));
  const std::string other = Wire().block(1, "ONNX").number(2, 10).block(4, "d").number(5, 1).text();
  CHECK_THAT(message("magic.onnx", other),
             Catch::Contains("operator set 'magic.onnx'") && Catch::Contains("magic is 'ONNX'"));
  CHECK_THAT(error_of([&] { Model::load(model, with({model})); }),
             Catch::Contains("not an ONNX operator set but an ONNX model"));
  CHECK_THAT(error_of([&] { Model::load(model, with({files / "absent.onnx"})); }),
             Catch::Contains("absent.onnx"));
  const auto set = files.write("set.onnx", test::sample_set().text());
  CHECK_THAT(error_of([&] { Model::load(set); }),
             Catch::Contains("not an ONNX model but an OperatorSetProto"));
}

TEST_CASE("functions of operator sets that call each other are refused") {
  const Files files;
  const std::string domain = "org.example";
  const auto calls = [&](const std::string& name, const std::string& callee) {
    return test::wire_function(name, domain, {"x"}, {"y"},
                               {test::wire_node(callee, {"x"}, {"y"}, domain)}, {{domain, 3}});
  };
  const Wire set =
      test::wire_set(domain, 3, {calls("quadruple", "back"), calls("back", "quadruple")});
  const auto file = files.write("set.onnx", set.text());
  const auto model = files.write("model.onnx", calling("quadruple"));
  CHECK_THAT(error_of([&] { Model::load(model, with({file})); }),
             Catch::Contains("operator set 'set.onnx'") && Catch::Contains("calls itself"));
  CHECK(check_operator_set(file).size() == 1);
}

TEST_CASE("functions of operator sets that double each other's size stay within limits") {
  const Files files;
  const std::string domain = "org.example";
  std::vector<Wire> functions{test::sample_set()};
  functions.clear();
  for (int i = 0; i < 40; ++i) {
    const std::string callee = i == 0 ? "Neg" : "f" + std::to_string(i - 1);
    const std::string of = i == 0 ? "" : domain;
    functions.push_back(test::wire_function(
        "f" + std::to_string(i), domain, {"x"}, {"y"},
        {test::wire_node(callee, {"x"}, {"t"}, of), test::wire_node(callee, {"t"}, {"y"}, of)},
        {{"", 18}, {domain, 3}}));
  }
  const auto file = files.write("set.onnx", test::wire_set(domain, 3, functions).text());
  CHECK(check_operator_set(file).empty());
  const auto model = files.write("model.onnx", calling("f39"));
  CHECK_THAT(error_of([&] { Model::load(model, with({file})); }),
             Catch::Contains("nodes with its functions inlined, the limit is"));
  const auto small = files.write("small.onnx", calling("f2"));
  CHECK(run(Model::load(small, with({file}))) == std::vector<float>{1, -2});
}

TEST_CASE("names of functions that are no identifiers are warnings, and errors when strict") {
  const Files files;
  const Wire function = test::wire_function("two words", "org.example", {"x"}, {"y"},
                                            {test::wire_node("Neg", {"x"}, {"y"})});
  const auto set = files.write("set.onnx", test::wire_set("org.example", 3, {function}).text());
  const auto file = files.write("model.onnx", calling("two words"));
  const Model model = Model::load(file, with({set}));
  REQUIRE(model.warnings().size() == 1);
  CHECK(model.warnings()[0] ==
        "function 'two words' has a name that is no C identifier, in operator set 'set.onnx'");
  LoadOptions strict = with({set});
  strict.strict = true;
  CHECK_THAT(error_of([&] { Model::load(file, strict); }), Catch::Contains("no C identifier"));
}

TEST_CASE("an operator set is described and checked") {
  const Files files;
  Wire wire = test::sample_set();
  wire.message(8, test::wire_operator("Fold", 2).block(10, "folds"));
  const auto file = files.write("set.onnx", wire.text());
  CHECK(is_operator_set(file));
  CHECK_FALSE(is_operator_set(files.write("model.onnx", calling("twice"))));
  CHECK_FALSE(is_operator_set(files / "absent.onnx"));
  CHECK(check_operator_set(file).empty());
  const OperatorSetInfo info = operator_set_info(file);
  CHECK(info.domain == "org.example");
  CHECK(info.version == 3);
  CHECK(info.ir_version == 10);
  REQUIRE(info.operators.size() == 1);
  CHECK(info.operators[0].name == "Fold");
  CHECK(info.operators[0].stable);
  REQUIRE(info.functions.size() == 3);
  CHECK(info.functions[2].inputs == std::vector<std::string>{"x"});
  CHECK(info.functions[2].attributes == std::vector<std::string>{"factor = 3"});
  CHECK(info.functions[1].imports[1] == std::pair<std::string, std::int64_t>{"org.example", 3});
  CHECK(info.functions[1].nodes == 2);
}

TEST_CASE("a set that needs another one is checked with it") {
  const Files files;
  const auto sample = files.write("sample.onnx", test::sample_set().text());
  const Wire function =
      test::wire_function("eightfold", "org.user", {"x"}, {"y"},
                          {test::wire_node("quadruple", {"x"}, {"t"}, "org.example"),
                           test::wire_node("Add", {"t", "t"}, {"y"})},
                          {{"", 18}, {"org.example", 3}});
  const auto set = files.write("user.onnx", test::wire_set("org.user", 1, {function}).text());
  const auto findings = check_operator_set(set);
  REQUIRE(findings.size() == 1);
  CHECK_THAT(findings[0], Catch::Contains("missing operator: 'quadruple' of 'org.example'"));
  CHECK(check_operator_set(set, with({sample})).empty());
  graph::ModelDef def = calling("eightfold");
  def.opsets[1] = {"org.user", 1};
  def.graph.nodes[0].domain = "org.user";
  const auto model = files.write("model.onnx", def);
  CHECK(run(Model::load(model, with({set, sample}))) == std::vector<float>{8, -16});
}
