// ondine import-ort, on the artifacts that onnxruntime-training wrote for the unit tests.
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/paths.h"
#include "tests/system/cli_run.h"

using namespace cli_test;

TEST_CASE("import-ort writes a training model that trains and exports") {
  const Workshop shop;
  const std::string data = ondine::test::source_folder() / "tests/trainer/import_ort/data";
  const std::string said =
      shop.succeed("import-ort " + data + " -o train.onnx --checkpoint " + data + "/saved").out;
  CHECK_THAT(said, Catch::Contains("trains 3 parameters, 1 frozen"));
  CHECK_THAT(said, Catch::Contains("optimizer  adamw, learning rate 0.001, step 2"));
  CHECK_THAT(said, Catch::Contains("outputs    output") && Catch::Contains("labels     labels"));
  CHECK_THAT(said,
             Catch::Contains("train      fc1.weight") && Catch::Contains("freeze     fc1.bias"));
  CHECK(shop.run("check train.onnx").exit_code == 0);
  CHECK_THAT(shop.succeed("info train.onnx").out, Catch::Contains("fc2.weight"));
  CHECK(shop.succeed("import-ort " + data + " -o other.onnx --label labels").err.empty());
  shop.refuse("import-ort " + data + " -o none.onnx --label x_none", "no input 'x_none'");
  shop.refuse("import-ort . -o none.onnx", "no file eval_model.onnx");
  CHECK(shop.run("import-ort " + data).exit_code == 2);
  CHECK_FALSE(std::filesystem::exists(shop / "none.onnx"));
}
