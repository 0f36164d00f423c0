// The command line and operator-set documents.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>

#include <ondine/data.h>

#include "tests/proto/operator_sets.h"
#include "tests/support/models.h"
#include "tests/support/paths.h"
#include "tests/system/run/cli_run.h"

using cli_test::Result;
using cli_test::Workshop;
using namespace ondine;

namespace {

// y = w quadruple(x) of version 3 of org.example.
std::string model_text() {
  graph::ModelDef model;
  model.ir_version = 10;
  model.opsets = {{"", 18}, {"org.example", 3}};
  model.graph.name = "main";
  const auto value = [](const std::string& name) {
    return test::tensor_value(name, DType::float32, {graph::DimName("N"), std::int64_t{2}});
  };
  model.graph.inputs = {value("x")};
  model.graph.outputs = {value("y")};
  model.graph.initializers = {{"w", Tensor::of<float>({2}, {1, 2}), "", {}}};
  model.graph.nodes = {test::node("quadruple", {"x"}, {"q"}, {}, "org.example"),
                       test::node("Mul", {"q", "w"}, {"y"})};
  const auto bytes = test::encode(model);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("every command that loads a model takes operator sets") {
  const Workshop shop;
  shop.write("m.onnx", model_text());
  shop.write("set.onnx", test::sample_set().text());
  save_array(shop / "x.npy", Tensor::of<float>({1, 2}, {1, -1}));
  shop.refuse("infer m.onnx --input x=x.npy", "missing operator: 'quadruple' of 'org.example'");
  const std::string sets = " --operator-set set.onnx";
  CHECK(shop.succeed("infer m.onnx --input x=x.npy" + sets).out == "y  float[1, 2]  4 -8\n");
  CHECK_THAT(shop.succeed("info m.onnx" + sets).out, Catch::Contains("inputs\n  x  tensor(float)"));
  CHECK(shop.succeed("check m.onnx" + sets).out == "m.onnx: no findings\n");
  CHECK_THAT(shop.succeed("inspect m.onnx --stage model" + sets).out,
             Catch::Contains("function quadruple"));
  shop.succeed("bench m.onnx --shape x=1x2 --steps 1" + sets);
  shop.succeed("differentiate m.onnx --of y --by x -o g.onnx" + sets);
  CHECK_THAT(shop.succeed("infer g.onnx --input x=x.npy").out, Catch::Contains("gradient.x"));
  shop.succeed("prepare m.onnx -o train.onnx --loss mse --train w" + sets);
  // Written models need no document.
  shop.succeed("check train.onnx");
  shop.succeed("lower train.onnx -o step.onnx" + sets);
  shop.succeed("gradcheck train.onnx" + sets);
  shop.succeed("export train.onnx -o out.onnx" + sets);
  CHECK(shop.succeed("infer out.onnx --input x=x.npy").out == "y  float[1, 2]  4 -8\n");
  // A document that is given twice counts once.
  CHECK(shop.succeed("infer m.onnx --input x=x.npy" + sets + sets).out == "y  float[1, 2]  4 -8\n");
}

TEST_CASE("commands that rewrite a model tell what its operator sets have wrong") {
  const Workshop shop;
  shop.write("m.onnx", model_text());
  shop.write(
      "set.onnx",
      test::wire_set("org.example", 3,
                     {test::wire_function("quadruple", "org.example", {"x"}, {"y"},
                                          {test::wire_node("Sum", {"x", "x", "x", "x"}, {"y"})}),
                      test::wire_function("no-name", "org.example", {"x"}, {"y"},
                                          {test::wire_node("Neg", {"x"}, {"y"})})})
          .text());
  const std::string sets = " --operator-set set.onnx";
  const auto warned =
      Catch::Contains("'no-name' has a name that is no C identifier, in operator set 'set.onnx'");
  CHECK_THAT(shop.succeed("prepare m.onnx -o train.onnx --loss mse --train w" + sets).err, warned);
  CHECK_THAT(shop.succeed("differentiate m.onnx --of y --by x -o g.onnx" + sets).err, warned);
  CHECK_THAT(shop.succeed("lower train.onnx -o step.onnx" + sets).err, warned);
  CHECK_THAT(shop.succeed("gradcheck train.onnx" + sets).err, warned);
}

TEST_CASE("conformance cases take operator sets") {
  const Workshop shop;
  shop.write("set.onnx", test::sample_set().text());
  const std::string sets = " --operator-set set.onnx";
  const Tensor x = Tensor::of<float>({1, 2}, {1, -1});
  std::filesystem::create_directories(shop / "case/test_data_set_0");
  shop.write("case/model.onnx", model_text());
  save_value(shop / "case/test_data_set_0/input_0.pb", {"x", x});
  save_value(shop / "case/test_data_set_0/output_0.pb", {"y", Tensor::of<float>({1, 2}, {4, -8})});
  CHECK_THAT(shop.succeed("verify case").out, Catch::Contains("missing operator: 'quadruple'"));
  CHECK_THAT(shop.succeed("verify case --none-skipped" + sets).out, Catch::Contains("1 passed"));
  // A model that must be loaded in a process of its own.
  std::filesystem::create_directories(shop / "apart");
  shop.write("apart/model.onnx", model_text());
  save_value(shop / "apart/input_0.pb", {"x", x});
  shop.write("apart/expect", "accept\ncall: infer\n");
  CHECK_THAT(shop.run("verify apart").out, Catch::Contains("missing operator: 'quadruple'"));
  CHECK_THAT(shop.succeed("verify apart" + sets).out, Catch::Contains("1 passed"));

  shop.write("case/case.json",
             R"({"calls": [{"call": "load", "state": []},
                           {"call": "infer", "outputs": ["y"], "state": []}]})");
  std::filesystem::rename(shop / "case/test_data_set_0", shop / "case/call_1");
  shop.succeed("replay case results");
  CHECK_THAT(shop.read("results/report.json"), Catch::Contains("unsupported"));
  shop.succeed("replay case results" + sets);
  CHECK_THAT(shop.read("results/report.json"), Catch::Contains("\"status\": \"done\""));
  CHECK(load_value(shop / "results/call_1/output_0.pb", "")
            .second.tensor()
            .identical(Tensor::of<float>({1, 2}, {4, -8})));
}

TEST_CASE("commands without --operator-set load no model") {
  std::ifstream options(test::source_folder() / "tests/system/options.txt");
  std::set<std::string> commands;
  std::set<std::string> with_sets;
  for (std::string line; std::getline(options, line);) {
    const std::string command = line.substr(0, line.find(' '));
    commands.insert(command);
    if (line.find("| --operator-set FILE") != std::string::npos) with_sets.insert(command);
  }
  for (const std::string& one : with_sets) commands.erase(one);
  CHECK(commands == std::set<std::string>{"completion", "import-hf", "man", "new", "options"});
}

TEST_CASE("check reads operator sets and prints every finding") {
  const Workshop shop;
  shop.write("set.onnx", test::sample_set().text());
  CHECK(shop.succeed("check set.onnx").out == "set.onnx: no findings\n");
  test::Wire wrong = test::sample_set();
  wrong.block(1, "ONNXOPSETS");  // the last value of a field counts
  wrong.message(8, test::wire_operator("Fold", 9)).message(8, test::wire_operator("twice", 1));
  shop.write("wrong.onnx", wrong.text());
  const Result result = shop.run("check wrong.onnx");
  CHECK(result.exit_code == 1);
  CHECK(result.err ==
        "magic is 'ONNXOPSETS', that of an operator set is 'ONNXOPSET'\n"
        "operator 'Fold' has since_version 9, it must be from 1 to the opset_version, 3\n"
        "function 'twice' has the name of an operator of the set\n");
  shop.write("cut.onnx", test::sample_set().text().substr(0, 100));
  CHECK_THAT(shop.run("check cut.onnx").err, Catch::Contains("not an ONNX operator set: "));
  shop.refuse("infer set.onnx", "not an ONNX model but an OperatorSetProto");
  shop.refuse("infer net.onnx --operator-set net.onnx",
              "not an ONNX operator set but an ONNX model");
}

TEST_CASE("info prints an operator set") {
  const Workshop shop;
  test::Wire set = test::sample_set();
  set.block(6, "Small functions.\nMore about them.");
  set.message(8, test::wire_operator("Fold", 2).block(10, "Folds a tensor."));
  shop.write("set.onnx", set.text());
  CHECK(shop.succeed("info set.onnx").out ==
        "operator set org.example version 3, IR version 10\n"
        "  Small functions.\n"
        "operators\n"
        "  Fold  since version 2, stable\n"
        "    Folds a tensor.\n"
        "functions\n"
        "  twice(x) -> (y)\n"
        "  quadruple(x) -> (y)\n"
        "  scaled(x) -> (y) {factor = 3}\n");
  CHECK_THAT(shop.succeed("info set.onnx --json").out,
             Catch::Contains("\"domain\": \"org.example\"") && Catch::Contains("\"factor = 3\""));
}
