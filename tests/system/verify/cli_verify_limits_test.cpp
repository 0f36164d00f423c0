// Limits of `ondine verify` on models: no warnings, and bounded work.
#include <catch2/catch.hpp>
#include <csignal>

#include <ondine/data.h>

#include "tests/support/models.h"
#include "tests/system/verify/verify_cases.h"

using namespace cli_test;  // NOLINT
using namespace ondine;
namespace fs = std::filesystem;

TEST_CASE("verify takes warnings about a model as errors, in every kind of case") {
  const Workshop shop;
  const Tensor x = pair(1.0F, 2.0F);
  // A dim of -1 is tolerated elsewhere.
  const std::string model = [] {
    graph::ModelDef def = identity(DType::float32, {2});
    def.graph.inputs = {test::tensor_value("x", DType::float32, {std::int64_t{-1}})};
    return text_of(test::encode(def));
  }();
  write_copy(shop, "copy", x, x);
  expect_success(shop, "copy");
  shop.write("copy/model.onnx", model);
  shop.succeed("infer copy/model.onnx --input x=copy/test_data_set_0/input_0.pb");
  expect_failure(shop, "copy", "-1");
  fs::create_directories(shop / "hostile");
  shop.write("hostile/model.onnx", model);
  shop.write("hostile/expect", "reject\na dim of -1\n");
  expect_success(shop, "hostile");
  write_line(shop, "training");
  graph::ModelDef line = test::linear_regression(0.1F);
  line.graph.inputs[0].type.dims->front() = std::int64_t{-1};
  shop.write("training/model.onnx", text_of(test::encode(line)));
  expect_failure(shop, "training", "-1");
}

TEST_CASE("verify bounds what hostile models may take") {
  const Workshop shop;
  const auto check = [&](const char* name, const graph::ModelDef& model, const NamedValue& feed) {
    const std::string folder = name;
    fs::create_directories(shop / folder);
    shop.write(folder + "/model.onnx", text_of(test::encode(model)));
    save_value(shop / folder / "input_0.pb", feed);
    shop.write(folder + "/expect", "reject-run\nit takes too much\ncall: infer\n");
    expect_success(shop, folder);
  };
  graph::ModelDef large = identity(DType::int64, {1});
  large.graph.inputs[0].name = "dims";
  large.graph.outputs = {test::tensor_value("y", DType::float32, {"M"})};
  large.graph.nodes = {test::node("ConstantOfShape", {"dims"}, {"y"})};
  // 1.2 GB of floats.
  check("large", large, {"dims", Tensor::of<std::int64_t>({1}, {300'000'000})});
  save_value(shop / "large/input_0.pb", {"dims", Tensor::of<std::int64_t>({1}, {1000})});
  expect_failure(shop, "large", "accepted");

  graph::GraphDef body;
  body.name = "body";
  body.inputs = {test::tensor_value("i", DType::int64, {}),
                 test::tensor_value("go", DType::boolean, {}),
                 test::tensor_value("n", DType::int64, {std::int64_t{1}})};
  body.nodes = {test::node("Identity", {"go"}, {"go_on"}), test::node("Add", {"n", "n"}, {"next"})};
  body.outputs = {test::tensor_value("go_on", DType::boolean, {}),
                  test::tensor_value("next", DType::int64, {std::int64_t{1}})};
  graph::ModelDef loop = identity(DType::int64, {});
  loop.graph.inputs[0].name = "trips";
  loop.graph.initializers = {{"start", Tensor::of<std::int64_t>({1}, {1}), "", {}},
                             {"yes", Tensor::scalar(true), "", {}}};
  loop.graph.outputs = {test::tensor_value("y", DType::int64, {std::int64_t{1}})};
  loop.graph.nodes = {test::node("Loop", {"trips", "yes", "start"}, {"y"},
                                 {{"body", std::make_shared<const graph::GraphDef>(body)}})};
  check("loop", loop, {"trips", Tensor::scalar(std::int64_t{1'000'001})});
  save_value(shop / "loop/input_0.pb", {"trips", Tensor::scalar(std::int64_t{1000})});
  expect_failure(shop, "loop", "accepted");
}

TEST_CASE("verify names the signal that ended a hostile case") {
  const Workshop shop;
  fs::create_directories(shop / "busy");
  // Products of large matrices, for longer than the processor time that the shell allows.
  graph::GraphDef body;
  body.name = "body";
  body.inputs = {test::tensor_value("i", DType::int64, {}),
                 test::tensor_value("go", DType::boolean, {}),
                 test::tensor_value("m", DType::float32, {std::int64_t{800}, std::int64_t{800}})};
  body.nodes = {test::node("Identity", {"go"}, {"go_on"}),
                test::node("MatMul", {"m", "m"}, {"next"})};
  body.outputs = {
      test::tensor_value("go_on", DType::boolean, {}),
      test::tensor_value("next", DType::float32, {std::int64_t{800}, std::int64_t{800}})};
  graph::ModelDef loop = identity(DType::int64, {});
  loop.graph.inputs[0].name = "trips";
  loop.graph.initializers = {{"start", Tensor(DType::float32, {800, 800}), "", {}},
                             {"yes", Tensor::scalar(true), "", {}}};
  loop.graph.outputs = {
      test::tensor_value("y", DType::float32, {std::int64_t{800}, std::int64_t{800}})};
  loop.graph.nodes = {test::node("Loop", {"trips", "yes", "start"}, {"y"},
                                 {{"body", std::make_shared<const graph::GraphDef>(body)}})};
  shop.write("busy/model.onnx", text_of(test::encode(loop)));
  save_value(shop / "busy/input_0.pb", {"trips", Tensor::scalar(std::int64_t{900'000})});
  shop.write("busy/expect", "reject-run\nit takes too long\ncall: infer\n");
  const Result result = shop.run("verify busy", "(ulimit -S -t 1; %)");
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.out + result.err,
             Catch::Contains("ended by signal " + std::to_string(SIGXCPU) + ":"));
}

TEST_CASE("verify reports the most expensive refusal, where models were refused") {
  const Workshop shop;
  write_copy(shop, "copy", pair(1.0F, 2.0F), pair(1.0F, 2.0F));
  CHECK(shop.succeed("verify copy").out == "1 passed, 0 failed, 0 skipped\n");
  for (const char* name : {"refused/one", "refused/two"}) {
    fs::create_directories(shop / name);
    shop.write(std::string(name) + "/model.onnx", "no model");
    shop.write(std::string(name) + "/expect", "reject\nno protobuf\n");
  }
  CHECK_THAT(shop.succeed("verify copy refused").out,
             Catch::StartsWith("slowest refusal: ") && Catch::Contains(", largest: ") &&
                 Catch::EndsWith(")\n3 passed, 0 failed, 0 skipped\n"));
}
