// prepare --train-budget: what trains within a budget of memory.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/system/run/cli_run.h"

using Catch::Contains;
using cli_test::Result;
using cli_test::Workshop;

namespace {

const std::string within =
    "prepare net.onnx -o t.onnx --loss softmax-cross-entropy --label y --data data "
    "--train-budget ";

std::size_t updated(const Workshop& shop) {
  const auto info = nlohmann::json::parse(shop.succeed("info t.onnx --json").out);
  return info.at("algorithms").at(0).at("updates").size();
}

}  // namespace

TEST_CASE("prepare trains what a budget of memory has room for, and says so") {
  const Workshop shop;
  const std::string all = shop.succeed(within + "1GiB").out;
  CHECK_THAT(all, Contains("budget: 4 of 4 parameters train, with 100 % of the gain; a step "
                           "takes ") &&
                      Contains("KiB, one of all ") && !Contains("  freeze  "));
  CHECK_THAT(all, Contains("trains 4 parameters, 0 frozen"));
  const std::size_t most = updated(shop);
  shop.refuse(within + "100", "100");
  Result less;
  for (int bytes = 1024; less.exit_code != 0 && bytes < 65536; bytes += 256) {
    less = shop.run(within + std::to_string(bytes) + " --budget-rows 16");
  }
  REQUIRE(less.exit_code == 0);
  CHECK_THAT(less.out, Contains(" of 4 parameters train, with ") && !Contains("budget: 4 of") &&
                           Contains("  freeze  "));
  CHECK(updated(shop) < most);
  CHECK_THAT(shop.succeed("train t.onnx --data data --batch-size 16").out, Contains("epoch 1/1"));
}

TEST_CASE("a budget needs data, and its rows and batches need a budget") {
  const Workshop shop;
  const std::string prepare = "prepare net.onnx -o t.onnx --loss softmax-cross-entropy --label y ";
  shop.misuse(prepare + "--train-budget 1GiB", "--train-budget needs --data");
  shop.misuse(prepare + "--budget-rows 4", "--budget-rows needs --train-budget");
  shop.misuse(prepare + "--budget-batches 4 --data data", "--budget-batches needs --train-budget");
  shop.misuse(prepare + "--data data --train-budget much", "--train-budget needs a size");
}

TEST_CASE("prepare trains named channels of a weight, and an export has them in the weight") {
  const Workshop shop;
  const std::string prepare =
      "prepare net.onnx -o t.onnx --loss softmax-cross-entropy --label y --train ";
  const std::string said = shop.succeed(prepare + "fc2.w@0,2-3").out;
  CHECK_THAT(said, Contains("trains 1 parameters") && Contains("fc2.w.channels") &&
                       Contains("3 of its channels train"));
  shop.succeed("train t.onnx --data data --batch-size 16 --initialize -o tuned.onnx");
  CHECK_THAT(shop.succeed("info tuned.onnx").out, !Contains("channels"));
  shop.refuse(prepare + "fc2.w@1000", "channel 1000 of 'fc2.w'");
}
