#include <catch2/catch.hpp>

#include <filesystem>
#include <string>

#include <ondine/build.h>
#include <ondine/model.h>

#include "tests/support/op_harness.h"
#include "tests/support/temporary_folder.h"

namespace ondine::test {
namespace {

// y = x w. The length of the name decides where the weights lie in the file, and so whether they
// are read there.
void save_product(const std::filesystem::path& file, const std::string& name = "network") {
  ModelBuilder b(name, 13);
  b.input("x", DType::float32, {"N", 256});
  b.initializer("w", random_floats({256, 256}, 1));
  b.node("MatMul", "", {"x", "w"}, {"y"});
  b.output("y", DType::float32, {"N", 256});
  b.save(file);
}

std::string failure(const Model& model) {
  try {
    model.infer({{"x", random_floats({2, 256}, 2)}});
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::io);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a model file that is truncated under a model is an error of the next call") {
  int mapped = 0;
  for (std::size_t length = 1; length <= 8; ++length) {
    const TemporaryFolder folder;
    const auto file = folder / "model.onnx";
    save_product(file, std::string(length, 'n'));
    const Model model = Model::load(file);
    CHECK(failure(model).empty());
    std::filesystem::resize_file(file, 1000);
    const std::string message = failure(model);
    if (message.empty()) continue;  // the weights were copied
    ++mapped;
    CHECK(message.find("model.onnx") != std::string::npos);
    CHECK_THROWS_AS(model.export_inference(), Error);
  }
  CHECK(mapped > 0);
}

TEST_CASE("a model keeps working when its file is replaced by renaming") {
  const TemporaryFolder folder;
  const auto file = folder / "model.onnx";
  save_product(file);
  const Model model = Model::load(file);
  model.export_inference(folder / "other.onnx");
  std::filesystem::rename(folder / "other.onnx", file);
  std::filesystem::resize_file(file, 1000);
  CHECK(failure(model).empty());
}

}  // namespace ondine::test
