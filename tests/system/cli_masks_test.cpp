// infer --masks: pictures of different sizes, each with a mask of its own size.
#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/data.h>

#include "tests/support/bitmap.h"
#include "tests/system/run/cli_run.h"

using cli_test::Workshop;
using namespace ondine;
using Catch::Contains;

namespace {

// Two classes for each pixel: 1 where it is light.
void write_model(const Workshop& shop) {
  ModelBuilder b("masks", 17);
  const std::string x = b.input("image", DType::float32, {"N", 3, 2, 2});
  const std::string w = b.initializer("w", Tensor::of<float>({2, 3, 1, 1}, {-1, -1, -1, 1, 1, 1}));
  const std::string c = b.initializer("c", Tensor::of<float>({2}, {1.5F, -1.5F}));
  b.node("Conv", {x, w, c}, {}, "scores");
  b.output("scores", DType::float32, {"N", 2, 2, 2});
  b.save(shop / "m.onnx");
}

}  // namespace

TEST_CASE("infer writes a mask in the size of each picture") {
  const Workshop shop;
  write_model(shop);
  const std::array<unsigned, 3> dark{0, 0, 0};
  const std::array<unsigned, 3> light{255, 255, 255};
  std::filesystem::create_directories(shop / "d/images");
  shop.write("d/images/wide.bmp",
             test::bitmap(4, 2, {dark, dark, light, light, dark, dark, light, light}));
  shop.write("d/images/small.bmp", test::bitmap(2, 2, {light, dark, light, dark}));
  shop.succeed("infer m.onnx --data d/images --image-fit stretch --masks d/masks");
  // The written files are masks of these pictures.
  const Dataset data = Dataset::open(shop / "d", {.use = DataUse::evaluation});
  CHECK(data.classes() == std::vector<std::string>{"0", "1"});
  const PortInfo label{"label", "", DType::int64, std::vector<std::int64_t>{-1, -1, -1}, false};
  Feeder feeder(std::vector{label}, data, {{"label", "mask"}});
  const auto mask = [&](std::uint64_t row) {
    const auto values = feeder.take(std::span(&row, 1))[0].second.tensor().values<std::int64_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  };
  CHECK(mask(0) == std::vector<std::int64_t>{1, 0, 1, 0});
  CHECK(mask(1) == std::vector<std::int64_t>{0, 0, 1, 1, 0, 0, 1, 1});
  shop.misuse("infer m.onnx --masks out --input image=x.npy", "--masks needs --data");
}

TEST_CASE("masks need pictures and a class for each position") {
  const Workshop shop;
  shop.refuse("infer net.onnx --data data/x_test.npy --masks out", "--masks needs pictures");
}
