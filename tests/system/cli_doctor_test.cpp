#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <ondine/build.h>
#include <ondine/data.h>

#include "tests/support/random_tensor.h"
#include "tests/system/run/cli_run.h"

using cli_test::Result;
using cli_test::Workshop;
using namespace ondine;

namespace {
const std::string prepare_with =
    "prepare net.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adam --label y ";
const std::string prepared = prepare_with + "--learning-rate 0.02";
const std::string rows_of_task = " --data data";
}  // namespace

TEST_CASE("doctor exits with 0 and says so when it finds nothing") {
  const Workshop shop;
  shop.succeed(prepared);
  CHECK_THAT(shop.succeed("doctor train.onnx" + rows_of_task).out, Catch::Equals("no findings\n"));
  CHECK_THAT(shop.succeed("doctor train.onnx --shape x=6x4").out,
             Catch::Contains("no findings on synthetic data"));
  CHECK_THAT(shop.succeed("doctor train.onnx --initialize" + rows_of_task + " --batch-size 7").out,
             Catch::Contains("no findings"));
}

TEST_CASE("doctor exits with 1 and prints each finding with its remedy") {
  const Workshop shop;
  shop.succeed(prepare_with + "--init zeros --learning-rate 3");
  const Result text = shop.run("doctor train.onnx --initialize" + rows_of_task);
  CHECK(text.exit_code == 1);
  CHECK(text.err.empty());
  CHECK_THAT(text.out, Catch::Contains("weight-scale: all elements of 'fc1.w' are 0\n  remedy: ") &&
                           Catch::Contains("learning-rate: the learning rate is 3") &&
                           Catch::Contains(" findings\n"));
  const Result json = shop.run("doctor train.onnx --initialize --json" + rows_of_task);
  CHECK(json.exit_code == 1);
  const auto findings = nlohmann::json::parse(json.out);
  REQUIRE(findings.size() >= 2);
  for (const auto& one : findings) {
    CHECK(one.at("check").get<std::string>() != "");
    CHECK(one.at("remedy").get<std::string>() != "");
  }
}

TEST_CASE("doctor counts one finding as one, and examines batches of the size that a model has") {
  const Workshop shop;
  shop.succeed(prepare_with + "--learning-rate 3");
  const Result one = shop.run("doctor train.onnx" + rows_of_task);
  CHECK(one.exit_code == 1);
  CHECK_THAT(one.out, Catch::StartsWith("learning-rate: ") && Catch::EndsWith("\n1 finding\n"));
  CHECK_THAT(shop.run("doctor train.onnx").out,
             Catch::EndsWith("\n1 finding on synthetic data; --data examines a batch of yours\n"));
  ModelBuilder b("fixed");
  b.input("x", DType::float32, {std::int64_t{5}, std::int64_t{4}});
  b.node("MatMul", {"x", b.initializer("w", test::random_floats({4, 3}, 1, -0.1F, 0.1F))}, {},
         "logits");
  b.output("logits", DType::float32, {std::int64_t{5}, std::int64_t{3}});
  b.save(shop / "fixed.onnx");
  shop.succeed("prepare fixed.onnx -o fixed_train.onnx --loss softmax-cross-entropy --init keep");
  CHECK(shop.succeed("doctor fixed_train.onnx --data data --batch-size 7").out == "no findings\n");
  save_array(shop / "x.npy", Tensor(DType::float32, {4, 4}));
  save_array(shop / "label.npy", Tensor(DType::int64, {4}));
  shop.refuse("doctor fixed_train.onnx --data x.npy label.npy", "the data has no batch of 5 rows");
}

TEST_CASE("doctor says of synthetic data neither how it is scaled nor what its loss is") {
  const Workshop shop;
  ModelBuilder b("steep");
  b.input("x", DType::float32, {"N", std::int64_t{4}});
  b.node("MatMul", {"x", b.initializer("w", test::random_floats({4, 3}, 1, -90, 90))}, {},
         "logits");
  b.output("logits", DType::float32, {"N", std::int64_t{3}});
  b.save(shop / "steep.onnx");
  shop.succeed("prepare steep.onnx -o t.onnx --loss softmax-cross-entropy --label y --init keep");
  CHECK_THAT(shop.run("doctor t.onnx" + rows_of_task).out, Catch::Contains("initial-loss: "));
  CHECK_THAT(shop.run("doctor t.onnx").out, !Catch::Contains("initial-loss: "));
}

TEST_CASE("doctor rejects models without training and shapes that do not fit") {
  const Workshop shop;
  shop.refuse("doctor net.onnx", "there is no algorithm 0");
  shop.succeed(prepared);
  shop.refuse("doctor train.onnx --shape x=6x5", "input 'x' must be a tensor(float)[N, 4]");
  shop.refuse("doctor train.onnx --shape z=6", "there is no input 'z'");
  CHECK(shop.run("doctor train.onnx --shape x=6x4" + rows_of_task).exit_code == 2);
}

TEST_CASE("info --layers prints parameters, multiply-adds and memory") {
  const Workshop shop;
  const std::string inference = shop.succeed("info --layers net.onnx").out;
  CHECK_THAT(inference, Catch::Contains("input x [1, 4]") &&
                            Catch::Contains("parameters: 67 (trained 0, frozen 67)") &&
                            Catch::Contains("multiply-adds: 56\n") &&
                            Catch::Contains("bytes of inference: ") &&
                            !Catch::Contains("training step"));
  shop.succeed(prepared + " --freeze fc1.b");
  const std::string training = shop.succeed("info train.onnx --layers --shape x=10x4").out;
  CHECK_THAT(training, Catch::Contains("input y [10]") &&
                           Catch::Contains("parameters: 67 (trained 59, frozen 8)") &&
                           Catch::Contains("multiply-adds: 560\n") &&
                           Catch::Contains("bytes of a training step: "));
  const auto json =
      nlohmann::json::parse(shop.succeed("info train.onnx --layers --shape x=10x4 --json").out);
  CHECK(json.at("multiply_adds") == 560);
  REQUIRE(json.at("layers").size() == 2);
  CHECK(json.at("layers")[0].at("operator") == "Gemm");
  CHECK(json.at("layers")[0].at("output") == "tensor(float)[10, 8]");
  CHECK(json.at("layers")[1].at("trained_parameters") == 27);
  CHECK(json.at("step").at("state_bytes") > 0);
  CHECK(shop.run("info net.onnx --shape x=1x4").exit_code == 2);
  shop.refuse("info --layers net.onnx --shape x=1", "input 'x' must be");
}

TEST_CASE("bench takes the shapes of inputs") {
  const Workshop shop;
  const auto bytes = [&](const std::string& shape) {
    const Result result = shop.succeed("bench net.onnx --steps 1 --json" + shape);
    return nlohmann::json::parse(result.out).at("planned_bytes").get<std::int64_t>();
  };
  CHECK(bytes(" --shape x=32x4") == bytes(""));  // the default batch
  CHECK(bytes(" --shape x=512x4") > bytes(""));
  shop.refuse("bench net.onnx --shape x=3x5", "input 'x' must be");
  shop.succeed(prepared);
  // The labels have as many rows as the input: both are 'N'.
  CHECK(shop.run("bench train.onnx --steps 1 --shape x=5x4").exit_code == 0);
}
