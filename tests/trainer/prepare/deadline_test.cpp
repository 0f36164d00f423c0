#include <catch2/catch.hpp>
#include <chrono>

#include <ondine/build.h>
#include <ondine/prepare.h>

#include "tests/support/temporary_folder.h"

using namespace ondine;

TEST_CASE("preparing from file to file ends at its deadline and writes nothing") {
  const test::TemporaryFolder folder;
  ModelBuilder builder("net");
  builder.input("x", DType::float32, {"N", 2});
  builder.initializer("w", Tensor(DType::float32, {2, 3}));
  builder.node("MatMul", {"x", "w"}, {}, "y");
  builder.output("y", DType::float32, {"N", 3});
  builder.save(folder / "net.onnx");
  const PrepareOptions options{.loss = Loss::mse};
  LoadOptions load;
  load.deadline = std::chrono::milliseconds(0);
  CHECK_THROWS_WITH(prepare(folder / "net.onnx", folder / "train.onnx", options, load),
                    Catch::Contains("deadline"));
  CHECK_FALSE(std::filesystem::exists(folder / "train.onnx"));
  load.deadline = std::chrono::minutes(10);
  CHECK_NOTHROW(prepare(folder / "net.onnx", folder / "train.onnx", options, load));
}
