// ondine lower and ondine differentiate.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/system/run/cli_run.h"

using namespace cli_test;

namespace {

const std::string prepare_sgd =
    "prepare net.onnx -o train.onnx --loss softmax-cross-entropy --optimizer sgd --label y "
    "--init he-uniform";

}

TEST_CASE("lower writes steps and initializations that are models like any other") {
  const Workshop shop;
  shop.succeed(prepare_sgd);
  const std::string step = shop.succeed("lower train.onnx -o step.onnx").out;
  CHECK_THAT(step, Catch::Contains("of ai.onnx 18") && Catch::Contains("feeds    x  y"));
  CHECK_THAT(step, Catch::Contains("state    fc1.w") && Catch::Contains("results  loss"));
  CHECK_THAT(step, Catch::Contains("next     fc1.w = "));
  CHECK(shop.run("check step.onnx").exit_code == 0);
  CHECK_THAT(shop.succeed("info step.onnx").out, Catch::Contains("loss"));
  CHECK_THAT(shop.succeed("lower train.onnx -o step.onnx --opset 21").out,
             Catch::Contains("of ai.onnx 21"));
  CHECK_THAT(shop.succeed("lower train.onnx -o start.onnx --initialization-of 0").out,
             Catch::Contains("next     fc1.w = "));
  CHECK(shop.run("check start.onnx").exit_code == 0);
  shop.refuse("lower train.onnx -o none.onnx --algorithm 2", "algorithm 2");
  shop.refuse("lower train.onnx -o none.onnx --opset 3", "version 3");
  shop.refuse("lower net.onnx -o none.onnx", "algorithm 0");
  CHECK(shop.run("lower train.onnx -o none.onnx --algorithm 0 --initialization-of 0").exit_code ==
        2);
  CHECK_FALSE(std::filesystem::exists(shop / "none.onnx"));
}

TEST_CASE("lower writes large tensors of a step to a file of their own if asked") {
  const Workshop shop;
  shop.succeed(prepare_sgd);
  shop.succeed("lower train.onnx -o step.onnx --external-data-from 1");
  const auto has_data = [](const auto& entry) { return entry.path().extension() == ".data"; };
  const std::filesystem::directory_iterator files(shop / ".");
  CHECK(std::count_if(begin(files), end(files), has_data) == 1);
  CHECK(shop.run("check step.onnx").exit_code == 0);
}

TEST_CASE("differentiate writes large constants to a file of their own if asked") {
  const Workshop shop;
  const std::string command = "differentiate net.onnx --of logits --by x -o d.onnx";
  const auto has_data = [](const auto& entry) { return entry.path().extension() == ".data"; };
  const auto data_files = [&] {
    const std::filesystem::directory_iterator files(shop / ".");
    return std::count_if(begin(files), end(files), has_data);
  };
  shop.succeed(command);
  CHECK(data_files() == 0);
  shop.succeed(command + " --external-data-from 1");
  CHECK(data_files() == 1);
}

TEST_CASE("differentiate writes each kind of derivative") {
  const Workshop shop;
  const std::string command = "differentiate net.onnx --of logits --by fc1.w,x -o d.onnx";
  CHECK_THAT(shop.succeed(command).out, Catch::Contains("output  gradient.fc1.w") &&
                                            Catch::Contains("output  gradient.x") &&
                                            Catch::Contains("input   fc1.w"));
  CHECK(shop.run("check d.onnx").exit_code == 0);
  CHECK_THAT(shop.succeed(command + " --vector-jacobian").out,
             Catch::Contains("input   seed.logits"));
  CHECK_THAT(shop.succeed(command + " --forward").out,
             Catch::Contains("input   tangent.x") && Catch::Contains("output  tangent.logits"));
  CHECK_THAT(shop.succeed(command + " --hessian").out, Catch::Contains("output  hessian.fc1.w"));
  CHECK(shop.run(command + " --hessian --forward").exit_code == 2);
  CHECK(shop.run(command + " --vector-jacobian --forward").exit_code == 2);
  // The name of before.
  CHECK_THAT(shop.succeed(command + " --seed-input").out, Catch::Contains("input   seed.logits"));
  CHECK(shop.run(command + " --seed-input --forward").exit_code == 2);
  shop.refuse("differentiate net.onnx --of nothing --by x -o n.onnx", "nothing");
  CHECK_FALSE(std::filesystem::exists(shop / "n.onnx"));
}
