#include <algorithm>
#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/data.h>

#include "tests/system/run/cli_run.h"

using cli_test::Result;
using cli_test::Workshop;
using namespace ondine;

namespace {

const std::string prepare_adam =
    "prepare net.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adam "
    "--learning-rate 0.02 --label y";
const std::string train = "train train.onnx --data data --batch-size 7 --seed 3 --initialize ";

}  // namespace

TEST_CASE("a prepared model learns, and its export keeps what it learned") {
  const Workshop shop;
  shop.succeed(prepare_adam);
  const Result result = shop.succeed(train + "--epochs 8 -o trained.onnx --metrics metrics.jsonl");
  CHECK_THAT(result.out, Catch::Contains("epoch 8/8") && Catch::Contains("validation accuracy"));
  const std::string metrics = shop.read("metrics.jsonl");
  CHECK(std::count(metrics.begin(), metrics.end(), '\n') == 8);
  CHECK_THAT(metrics, Catch::Contains("\"loss\"") && Catch::Contains("\"validation_accuracy\""));
  const std::string score = shop.succeed("eval trained.onnx --data data").out;
  INFO(score);
  REQUIRE(score.rfind("accuracy ", 0) == 0);
  CHECK(std::stod(score.substr(9)) > 0.9);
}

TEST_CASE("--quiet prints nothing and changes nothing else") {
  const Workshop shop;
  shop.succeed(prepare_adam);
  const Result result = shop.succeed(train + "--epochs 1 -o quiet.onnx --quiet");
  CHECK(result.out.empty());
  CHECK(result.err.empty());
  shop.succeed(train + "--epochs 1 -o loud.onnx");
  CHECK(shop.read("quiet.onnx") == shop.read("loud.onnx"));
}

TEST_CASE("infer takes the rows of data that is named for validation alone") {
  const Workshop shop;
  shop.succeed("infer net.onnx --data data/x_test.npy -o of_test.csv");
  const std::string rows = shop.read("of_test.csv");
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 91);
}

TEST_CASE("resuming continues bit for bit, for any number of threads") {
  const Workshop shop;
  shop.succeed(prepare_adam);
  shop.succeed(train + "--epochs 4 -o whole.onnx --checkpoint whole.ckpt");
  shop.succeed(train + "--epochs 2 --checkpoint run.ckpt --threads 2");
  shop.succeed(train + "--epochs 4 --checkpoint run.ckpt --resume -o parts.onnx --threads 2");
  CHECK(shop.read("whole.onnx") == shop.read("parts.onnx"));
  shop.succeed("export train.onnx --checkpoint whole.ckpt -o exported.onnx");
  CHECK(shop.read("whole.onnx") == shop.read("exported.onnx"));
  shop.succeed("export train.onnx --checkpoint run.ckpt -o go_on.onnx --training");
  CHECK_THAT(shop.succeed("info go_on.onnx").out, Catch::Contains("training algorithm 0"));
}

TEST_CASE("an interrupted run saves, exits with 130 and continues from the same row") {
  const Workshop shop;
  shop.succeed(prepare_adam);
  const std::string long_run = train + "--epochs 60 --checkpoint run.ckpt -o parts.onnx";
  shop.succeed(train + "--epochs 60 -o whole.onnx");
  const Result stopped = shop.run(
      long_run,
      "env --default-signal=INT % & pid=$!; while ! test -e run.ckpt; do sleep 0.01; done; "
      "kill -INT $pid; wait $pid");
  INFO(stopped.out << stopped.err);
  if (stopped.exit_code == 0) {
    WARN("the run was over before it was interrupted");
  } else {
    CHECK(stopped.exit_code == 130);
    CHECK_THAT(stopped.err, Catch::Contains("run.ckpt") && Catch::Contains("--resume"));
    CHECK_FALSE(std::filesystem::exists(shop / "parts.onnx"));
    shop.succeed(long_run + " --resume");
  }
  CHECK(shop.read("whole.onnx") == shop.read("parts.onnx"));
}

TEST_CASE("data that does not fit is refused by name") {
  const Workshop shop;
  shop.succeed(prepare_adam);
  shop.refuse("train net.onnx --data data --epochs 1 --batch-size 8", "ondine prepare");
  shop.refuse("train train.onnx --data none --epochs 1 --batch-size 8", "none");
  shop.refuse("train train.onnx --data data/x_train.npy --epochs 1 --batch-size 8", "'y'");
  shop.refuse(train + "--epochs 1 --map x=z", "'z'");
  shop.refuse(train + "--epochs 1 --set rate=1", "'rate'");
  shop.refuse(train + "--epochs 1 --checkpoint none.ckpt --resume", "none.ckpt");
  shop.write("broken.npy", shop.read("data/x_train.npy").substr(0, 500));
  shop.refuse("train train.onnx --data broken.npy data/y_train.npy --epochs 1 --batch-size 8",
              "broken.npy");
}

TEST_CASE("a label out of range stops the run and loses nothing") {
  const Workshop shop;
  shop.succeed(prepare_adam);
  shop.succeed(train + "--epochs 1 --checkpoint run.ckpt");
  Tensor labels = load_array(shop / "data/y_train.npy");
  labels.mutable_values<std::int64_t>()[17] = 3;
  save_array(shop / "data/y_train.npy", labels);
  shop.refuse(train + "--epochs 2 --checkpoint run.ckpt --resume -o out.onnx", "3");
  CHECK_FALSE(std::filesystem::exists(shop / "out.onnx"));
  shop.succeed("export train.onnx --checkpoint run.ckpt -o out.onnx");
}

TEST_CASE("a loss that is not finite stops the run unless it is told to continue") {
  const Workshop shop;
  shop.succeed("prepare net.onnx -o train.onnx --loss softmax-cross-entropy --label y");
  shop.succeed(train + "--epochs 1 --learning-rate 1e30 --on-nan continue");
  shop.succeed(train + "--epochs 1 --checkpoint run.ckpt");
  const std::string before = shop.read("run.ckpt");
  shop.refuse(
      train + "--epochs 3 --learning-rate 1e30 --stop-on-nan --checkpoint run.ckpt --resume",
      "loss is");
  CHECK(shop.read("run.ckpt") == before);
  shop.refuse(train + "--epochs 3 --learning-rate 1e30 --checkpoint run.ckpt --resume",
              "first tensor that is not finite");
  CHECK(shop.read("run.ckpt") == before);
  CHECK(shop.run(train + "--epochs 1 --on-nan continue --stop-on-nan").exit_code == 2);
}

TEST_CASE("a run begins with the weights of the model, or with drawn ones by --initialize") {
  const Workshop shop;
  shop.succeed(prepare_adam + " --init he-uniform");
  const auto weights = [&](const std::string& options) {
    shop.succeed(
        "train train.onnx --data data --batch-size 300 --epochs 1 --set learning_rate=0 "
        "-o after.safetensors " +
        options);
    return shop.read("after.safetensors");
  };
  shop.succeed("export train.onnx -o before.safetensors");
  const std::string before = shop.read("before.safetensors");
  CHECK(weights("--seed 3") == before);
  CHECK(weights("--seed 4") == before);
  const std::string drawn = weights("--seed 3 --initialize");
  CHECK(drawn != before);
  CHECK(weights("--seed 3 --initialize") == drawn);
  CHECK(weights("--seed 4 --initialize") != drawn);
}

TEST_CASE("prepare names the only parameter that is updated in float32, and of several the first") {
  const Workshop shop;
  const auto said = [&](const std::vector<std::string>& names) {
    ModelBuilder b("half");
    std::string x = b.input("x", DType::float16, {"N", std::int64_t{2}});
    for (const std::string& name : names) {
      x = b.node("MatMul", {x, b.initializer(name, Tensor(DType::float16, {2, 2}))});
    }
    b.node("Identity", {x}, {}, "y");
    b.output("y", DType::float16, {"N", std::int64_t{2}});
    b.save(shop / "half.onnx");
    return shop.succeed("prepare half.onnx -o train.onnx --loss mse --init keep").out;
  };
  const std::string rest = " parameters of low precision are updated in float32: ";
  CHECK_THAT(said({"w"}), Catch::Contains("master  1" + rest + "'w.master'\n"));
  CHECK_THAT(said({"v", "w"}), Catch::Contains("master  2" + rest + "'v.master', ...\n"));
}
