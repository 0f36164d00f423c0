// ondine import-ort, on the artifacts that onnxruntime-training wrote for the unit tests.
#include <catch2/catch.hpp>
#include <filesystem>

#include "proto/import.h"
#include "tests/support/models.h"
#include "tests/support/paths.h"
#include "tests/system/run/cli_run.h"

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

TEST_CASE("import-ort prints what it tolerates in the artifacts, each once") {
  const Workshop shop;
  const std::filesystem::path data =
      ondine::test::source_folder() / "tests/trainer/import_ort/data";
  std::filesystem::copy(data, shop / "artifacts", std::filesystem::copy_options::recursive);
  ondine::graph::ModelDef model = ondine::load_model(data / "eval_model.onnx");
  REQUIRE(model.graph.inputs[0].name == "x");
  model.graph.inputs[0].type.dims->front() = std::int64_t{-1};
  const std::vector<std::byte> bytes = ondine::test::encode(model);
  shop.write("artifacts/eval_model.onnx",
             {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const std::string said = shop.succeed("import-ort artifacts -o train.onnx").err;
  CHECK_THAT(said,
             Catch::StartsWith("warning: dimension -1 is negative, in value 'x', in graph '"));
  CHECK(said.find("warning: ", 1) == std::string::npos);
}
