// Unusual names, files and models on the command line.
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include <ondine/data.h>

#include "tests/proto/wire.h"
#include "tests/support/models.h"
#include "tests/system/run/cli_run.h"

using cli_test::Result;
using cli_test::Workshop;
using namespace ondine;
using namespace ondine::graph;  // NOLINT

namespace {

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

ValueDef pair_value(const std::string& name) {
  return test::tensor_value(name, DType::float32, {std::int64_t{2}});
}

Tensor pair_of(float first, float second) { return Tensor::of<float>({2}, {first, second}); }

// One output per entry of `outputs`: the first is the input negated, and so on.
ModelDef negating(const std::string& input, const std::vector<std::string>& outputs) {
  ModelDef model;
  model.ir_version = 10;
  model.opsets = {{"", 18}};
  model.graph.name = "main";
  model.graph.inputs = {pair_value(input)};
  std::string last = input;
  for (const std::string& output : outputs) {
    model.graph.outputs.push_back(pair_value(output));
    model.graph.nodes.push_back(test::node("Neg", {last}, {output}));
    last = output;
  }
  return model;
}

// w <- w + 1 in every step, loss the first element of w; no inputs at all.
ModelDef counting() {
  ModelDef model = negating("x", {"y"});
  model.graph.inputs.clear();
  model.graph.initializers = {{"w", pair_of(1, 2), "", {}},
                              {"one", pair_of(1, 1), "", {}},
                              {"first", Tensor::of<std::int64_t>({}, {0}), "", {}}};
  model.graph.nodes = {test::node("Neg", {"w"}, {"y"})};
  TrainingInfoDef& info = model.training.emplace_back();
  info.algorithm.emplace();
  info.algorithm->name = "step";
  info.algorithm->nodes = {test::node("Add", {"w", "one"}, {"w_new"}),
                           test::node("Gather", {"w", "first"}, {"loss"})};
  info.algorithm->outputs = {pair_value("w_new"), test::tensor_value("loss", DType::float32, {})};
  info.update_binding = {{"w", "w_new"}};
  return model;
}

}  // namespace

TEST_CASE("infer takes inputs whose names contain '='") {
  const Workshop shop;
  shop.write("odd.onnx", text_of(test::encode(negating("a=b", {"y"}))));
  save_array(shop / "v.npy", pair_of(1, -2));
  save_array(shop / "b=v.npy", pair_of(3, 4));
  CHECK(shop.succeed("infer odd.onnx --input a=b=v.npy").out == "y  float[2]  -1 2\n");
  shop.write("even.onnx", text_of(test::encode(negating("a", {"y"}))));
  CHECK(shop.succeed("infer even.onnx --input a=b=v.npy").out == "y  float[2]  -3 -4\n");
  shop.refuse("infer even.onnx --input c=v.npy", "no input 'c'");
  CHECK_THAT(shop.succeed("inspect odd.onnx --stage plan --shape a=b=2").out,
             Catch::Contains("'y' tensor(float)[2]"));
}

TEST_CASE("infer writes each output to a file of its own") {
  const Workshop shop;
  const std::vector<std::string> outputs{"a/b", "a_b", "a\\b", "a_b_2", "a:b"};
  shop.write("m.onnx", text_of(test::encode(negating("x", outputs))));
  save_array(shop / "x.npy", pair_of(1, 2));
  shop.succeed("infer m.onnx --input x=x.npy -o results");
  std::multiset<float> firsts;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shop / "results")) {
    ++files;
    firsts.insert(load_array(entry.path()).item<float>());
  }
  CHECK(files == outputs.size());
  CHECK(firsts == std::multiset<float>{-1, -1, -1, 1, 1});
  // A name that can be that of a file is.
  CHECK(load_array(shop / "results/a_b.npy").item<float>() == 1);
  CHECK(load_array(shop / "results/a_b_2.npy").item<float>() == 1);
}

TEST_CASE("infer writes what no array holds as .pb") {
  const Workshop shop;
  ModelDef model = negating("x", {"y"});
  model.graph.nodes.push_back(test::node("SequenceConstruct", {"x", "y"}, {"both"}));
  ValueDef both;
  both.name = "both";
  both.type.kind = graph::TypeKind::sequence;
  both.type.element = std::make_shared<const graph::TypeDef>(pair_value("y").type);
  model.graph.outputs.push_back(both);
  shop.write("m.onnx", text_of(test::encode(model)));
  save_array(shop / "x.npy", pair_of(1, 2));
  CHECK_THAT(shop.succeed("infer m.onnx --input x=x.npy").out, Catch::Contains("both  sequence\n"));
  shop.succeed("infer m.onnx --input x=x.npy -o results");
  CHECK(load_array(shop / "results/y.npy").identical(pair_of(-1, -2)));
  const Value value = load_value(shop / "results/both.pb", "seq(tensor(float))").second;
  REQUIRE(value.elements().size() == 2);
  CHECK(value.elements()[0].tensor().identical(pair_of(1, 2)));
  CHECK(value.elements()[1].tensor().identical(pair_of(-1, -2)));
}

TEST_CASE("train needs no data for an algorithm without inputs") {
  const Workshop shop;
  shop.write("count.onnx", text_of(test::encode(counting())));
  const std::string log = shop.succeed("train count.onnx --epochs 3 -o counted.onnx").out;
  CHECK_THAT(log, Catch::Contains("loss"));
  CHECK(shop.succeed("infer counted.onnx").out == "y  float[2]  -4 -5\n");
  // Data that nothing reads says how many steps an epoch has.
  save_array(shop / "rows.npy", Tensor(DType::float32, {10, 1}));
  shop.succeed("train count.onnx --data rows.npy --batch-size 4 --epochs 1 -o counted.onnx");
  CHECK(shop.succeed("infer counted.onnx").out == "y  float[2]  -4 -5\n");
}

TEST_CASE("train needs data for inputs, and takes one epoch in batches of 32 rows") {
  const Workshop shop;
  shop.succeed(
      "prepare net.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adam "
      "--learning-rate 0.02 --label y");
  const Result none = shop.run("train train.onnx --epochs 1 --batch-size 2");
  CHECK(none.exit_code == 2);
  CHECK_THAT(none.err, Catch::Contains("--data is required: the training algorithm has the input"));
  // One epoch of batches of 32 rows unless options say otherwise.
  const Result run = shop.succeed("train train.onnx --data data --checkpoint run.ckpt");
  CHECK_THAT(run.out, Catch::Contains("epoch 1/1"));
  CHECK_THAT(shop.read("run.ckpt.toml"), Catch::Contains("# epochs = 1\n") &&
                                             Catch::Contains("# batch-size = 32\n") &&
                                             Catch::Contains("checkpoint = \"run.ckpt\"\n"));
}

TEST_CASE("files that are no models are named for what they are") {
  const Workshop shop;
  const auto refuse = [&](const std::string& bytes, const std::string& what) {
    shop.write("other.onnx", bytes);
    shop.refuse("export other.onnx -o copy.onnx", "not an ONNX model but " + what);
  };
  using test::Wire;
  refuse(Wire().block(1, "ONNXOPSET").number(2, 8).block(4, "org.example").number(5, 3).text(),
         "an OperatorSetProto");
  refuse(Wire().number(1, 2).number(2, 1).block(8, "w").block(9, "12345678").text(),
         "a TensorProto");
  refuse(Wire().message(1, Wire().block(4, "Relu")).block(2, "g").message(12, Wire()).text(),
         "a GraphProto");
  refuse(Wire().block(1, "f").block(4, "x").message(9, Wire().number(2, 18)).text(),
         "a FunctionProto");
  refuse("PK\x03\x04 and so on", "a zip archive");
  save_array(shop / "array.npy", pair_of(1, 2));
  refuse(shop.read("array.npy"), "a NumPy array");
  refuse("ir_version: 8\n", "a text");
  refuse("<!DOCTYPE html><html>", "an HTML page");
  refuse("version https://git-lfs.github.com/spec/v1\nsize 3\n", "a Git LFS pointer");
  // A model that is cut off is still said to be damaged.
  shop.write("cut.onnx", shop.read("net.onnx").substr(0, 100));
  shop.refuse("info cut.onnx", "not an ONNX model:");
}

TEST_CASE("violations that leave a model usable are printed once, and are findings of check") {
  using test::Wire;
  const Workshop shop;
  const auto value = [](const std::string& name) {
    const Wire shape = Wire().message(1, Wire().number(1, UINT64_MAX));
    const Wire tensor = Wire().number(1, 1).message(2, shape);
    return Wire().block(1, name).message(2, Wire().message(1, tensor));
  };
  Wire graph = Wire().block(2, "main").message(11, value("x")).message(12, value("y"));
  graph.message(1, Wire().block(1, "x").block(2, "y").block(4, "Relu"));
  const Wire model = Wire().number(1, 10).message(8, Wire().number(2, 17)).message(7, graph);
  shop.write("sloppy.onnx", model.text());
  save_array(shop / "x.npy", Tensor::of<float>({3}, {-1, 0, 2}));
  const std::string warnings =
      "warning: dimension -1 is negative, in value 'x', in graph 'main'\n"
      "warning: dimension -1 is negative, in value 'y', in graph 'main'\n";
  CHECK(shop.succeed("infer sloppy.onnx --input x=x.npy -o out").err == warnings);
  CHECK(shop.succeed("info sloppy.onnx").err == warnings);
  const Result checked = shop.run("check sloppy.onnx");
  CHECK(checked.exit_code == 1);
  CHECK_THAT(checked.err, Catch::Contains("dimension -1 is negative, in value 'x'") &&
                              Catch::Contains("dimension -1 is negative, in value 'y'"));
  shop.refuse("inspect sloppy.onnx --stage graph --strict", "dimension -1 is negative");
}

TEST_CASE("a deadline ends commands that take too long") {
  const Workshop shop;
  // A loop of a hundred million iterations.
  GraphDef body;
  body.name = "body";
  body.inputs = {test::tensor_value("i", DType::int64, {}),
                 test::tensor_value("go", DType::boolean, {}), pair_value("v")};
  body.outputs = {test::tensor_value("go_on", DType::boolean, {}), pair_value("next")};
  body.nodes = {test::node("Identity", {"go"}, {"go_on"}), test::node("Neg", {"v"}, {"next"})};
  ModelDef model = negating("x", {"y"});
  model.graph.initializers = {{"count", Tensor::of<std::int64_t>({}, {100'000'000}), "", {}}};
  model.graph.nodes = {test::node("Loop", {"count", "", "x"}, {"y"},
                                  {{"body", std::make_shared<const GraphDef>(body)}})};
  TrainingInfoDef& info = model.training.emplace_back();
  info.algorithm.emplace();
  info.algorithm->name = "step";
  model.graph.initializers.push_back({"w", pair_of(0, 0), "", {}});
  info.algorithm->nodes = {test::node("Add", {"w", "y"}, {"w_new"})};
  info.algorithm->outputs = {pair_value("w_new")};
  info.update_binding = {{"w", "w_new"}};
  shop.write("endless.onnx", text_of(test::encode(model)));
  save_array(shop / "x.npy", pair_of(1, 2));
  save_array(shop / "rows.npy", Tensor(DType::float32, {2}));
  const std::string late = "the call took longer than its deadline";
  shop.refuse("infer endless.onnx --input x=x.npy --deadline 0.2", late);
  shop.refuse("train endless.onnx --data rows.npy --batch-size 2 --epochs 1 --deadline 0.2", late);
  shop.refuse("bench endless.onnx --steps 1 --deadline 0.2", late);
  // Milliseconds count: so many iterations take longer than one.
  model.graph.initializers[0].value = Tensor::of<std::int64_t>({}, {2'000'000});
  shop.write("short.onnx", text_of(test::encode(model)));
  shop.refuse("infer short.onnx --input x=x.npy --deadline 0.001", late);
  CHECK(shop.run("infer endless.onnx --deadline 0").exit_code == 2);
  CHECK(shop.run("infer net.onnx --deadline soon").exit_code == 2);
  std::filesystem::create_directories(shop / "case/test_data_set_0");
  std::filesystem::rename(shop / "endless.onnx", shop / "case/model.onnx");
  const NamedValue input{"x", pair_of(1, 2)};
  save_value(shop / "case/test_data_set_0/input_0.pb", input);
  save_value(shop / "case/test_data_set_0/output_0.pb", {"y", pair_of(1, 2)});
  const Result verified = shop.run("verify case --deadline 0.2");
  CHECK(verified.exit_code == 1);
  CHECK_THAT(verified.out, Catch::Contains(late));
}
