// Options that few runs need: each changes what a command does, or is refused by what reads it.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include <ondine/build.h>
#include <ondine/data.h>

#include "tests/support/random_tensor.h"
#include "tests/system/run/cli_run.h"

using Catch::Contains;
using cli_test::Result;
using cli_test::Workshop;
using namespace ondine;
using nlohmann::json;

namespace {

const std::string prepare =
    "prepare net.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adam --label y ";
const std::string train = "train train.onnx --data data --batch-size 7 --seed 3 --quiet ";

// steps.onnx: x [N, T, 4] -> scores [N, T, 3] of each step, with a Dropout before them.
void write_steps(const Workshop& shop) {
  ModelBuilder b("steps");
  b.input("x", DType::float32, {"N", "T", 4});
  const std::string kept = b.node("Dropout", {"x"});
  b.node("MatMul", {kept, b.initializer("w", test::random_floats({4, 3}, 1))}, {}, "scores");
  b.output("scores", DType::float32, {"N", "T", 3});
  b.save(shop / "steps.onnx");
}

std::string text_of(const Workshop& shop, const std::string& arguments) {
  shop.succeed(arguments + " -o t.onnx");
  return shop.succeed("inspect t.onnx --stage model").out;
}

}  // namespace

TEST_CASE("the blank of CTC and the mode of training are those of the options") {
  const Workshop shop;
  write_steps(shop);
  const std::string ctc = "prepare steps.onnx --loss ctc ";
  CHECK_THAT(text_of(shop, ctc), Contains("initializer loss.blank: tensor(int64)[] {0}\n"));
  CHECK_THAT(text_of(shop, ctc + "--ctc-blank 2"),
             Contains("initializer loss.blank: tensor(int64)[] {2}\n"));
  shop.refuse(ctc + "-o t.onnx --ctc-blank 3", "the CTC blank 3 is none of the 3");
  const std::string mse = "prepare steps.onnx --loss mse";
  CHECK(text_of(shop, mse) != text_of(shop, mse + " --no-training-mode"));
  CHECK_THAT(text_of(shop, mse + " --no-training-mode"), Contains("Dropout-17(x)\n"));
}

TEST_CASE("a memory budget and immediate updates reach the plan") {
  const Workshop shop;
  shop.succeed(prepare);
  const auto plan = [&](const std::string& options) {
    return json::parse(
        shop.succeed("inspect train.onnx --stage plan --format json --shape x=64x4 " + options)
            .out);
  };
  CHECK(plan("") == plan("--updates atomic"));
  CHECK(plan("") != plan("--updates immediate"));
  CHECK(plan("") == plan("--memory-budget 100000000"));
  for (const std::string command : {"train train.onnx --data data --batch-size 64 --epochs 1",
                                    "bench train.onnx --steps 1 --dim-size 64"}) {
    CHECK(shop.run(command + " --memory-budget 100000000").exit_code == 0);
    shop.refuse(command + " --memory-budget 1000", "1000");
  }
}

TEST_CASE("eval maps inputs of training whose names have an equals sign") {
  const Workshop shop;
  shop.succeed("prepare net.onnx -o train.onnx --loss softmax-cross-entropy --label l=1");
  CHECK_THAT(shop.succeed("eval train.onnx --data data --map l=1=y").out, Contains("over 90 rows"));
  shop.refuse("eval train.onnx --data data --map l=1=z", "'z'");
}

TEST_CASE("only algorithms that a model has are trained and examined") {
  const Workshop shop;
  shop.succeed(prepare);
  shop.succeed(train + "--epochs 1 --algorithm 0");
  shop.refuse(train + "--epochs 1 --algorithm 1", "the model has 1 training algorithms");
  shop.refuse("doctor train.onnx --data data --algorithm 1", "algorithm 1");
}

TEST_CASE("sampled texts take no other inputs, and values without an array are saved as such") {
  const Workshop shop;
  shop.misuse("infer net.onnx --prompt a --input x=x.npy", "--prompt excludes --input");
  shop.misuse("infer net.onnx --prompt a --data data", "--data excludes --prompt");
  shop.misuse("infer net.onnx --input x=x.npy --data data", "--data excludes --input");
  ModelBuilder b("narrow");
  b.input("x", DType::bfloat16, {2});
  b.node("Neg", {"x"}, {}, "y");
  b.output("y", DType::bfloat16, {2});
  b.save(shop / "narrow.onnx");
  save_value(shop / "x.pb", {"x", Tensor(DType::bfloat16, {2})});
  shop.succeed("infer narrow.onnx --input x=x.pb -o results");
  CHECK(load_value(shop / "results/y.pb", "").second.tensor().dtype() == DType::bfloat16);
  CHECK_FALSE(std::filesystem::exists(shop / "results/y.npy"));
}

TEST_CASE("sizes are printed in the largest unit of which there is one") {
  const Workshop shop;
  const auto size_of = [&](std::int64_t floats) {
    ModelBuilder b("weights");
    const std::string x = b.input("x", DType::float32, {floats});
    b.node("Add", {x, b.initializer("w", Tensor(DType::float32, {floats}))}, {}, "y");
    b.output("y", DType::float32, {floats});
    b.save(shop / "sized.onnx");
    return shop.succeed("bench sized.onnx --steps 1").out;
  };
  CHECK_THAT(size_of(255), Contains("constants 1020 B"));
  CHECK_THAT(size_of(256), Contains("constants 1.0 KiB"));
  CHECK_THAT(size_of(262'143), Contains("constants 1024.0 KiB"));
  CHECK_THAT(size_of(262'144), Contains("constants 1.0 MiB"));
}
