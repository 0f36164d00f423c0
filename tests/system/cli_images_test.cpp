// Raw images in folders from the command line.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include <ondine/build.h>

#include "tests/support/bitmap.h"
#include "tests/support/random_tensor.h"
#include "tests/system/run/cli_run.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;
using cli_test::Workshop;

namespace {

// net.onnx, x [N, 3, 4, 4] -> logits [N, 2], and twelve images of classes dark and light.
void fill(const Workshop& shop) {
  ModelBuilder b("images");
  const std::string x = b.input("x", DType::float32, {"N", 3, 4, 4});
  b.node("Conv", {x, b.initializer("w", random_floats({2, 3, 4, 4}, 1, -0.1F, 0.1F))}, {}, "maps");
  b.node("Flatten", {"maps"}, {}, "logits");
  b.output("logits", DType::float32, {"N", 2});
  const std::vector<std::byte> bytes = b.bytes();
  shop.write("net.onnx", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  for (unsigned i = 0; i < 12; ++i) {
    const std::string name = i % 2 == 0 ? "dark" : "light";
    const std::array<unsigned, 3> color{i % 2 * 200 + i, i, 255 - i % 2 * 200};
    std::filesystem::create_directories(shop / ("photos/" + name));
    shop.write("photos/" + name + "/" + std::to_string(i) + ".bmp",
               bitmap(4, 4, std::vector(16, color)));
  }
}

constexpr const char* prepare_arguments =
    "prepare net.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adam "
    "--learning-rate 0.05 --init keep --preprocess scale=1/255,mean=0.5,std=0.25:0.25:0.5";
constexpr const char* train_arguments =
    "train train.onnx --data photos --epochs 12 --batch-size 4 --augment flip,crop=1,color=0.1 "
    "-o tuned.onnx";

}  // namespace

TEST_CASE(
    "a folder of images is prepared for, trained on, evaluated and inferred with class names") {
  const Workshop shop;
  fill(shop);
  shop.succeed(prepare_arguments);
  CHECK_THAT(shop.succeed(train_arguments).out, Contains("data wait"));
  CHECK_THAT(shop.succeed("eval tuned.onnx --data photos").out, Contains("accuracy 1 over 12"));
  const auto top =
      shop.succeed("infer tuned.onnx --data photos/dark/0.bmp photos/light/1.bmp --top 2");
  CHECK_THAT(top.out, Contains("photos/dark/0.bmp  dark ") && Contains(", light "));
  CHECK_THAT(top.out, Contains("photos/light/1.bmp  light "));
  shop.succeed("infer tuned.onnx --data photos -o classes.csv");
  const std::string csv = shop.read("classes.csv");
  CHECK(csv.starts_with("file,class,score\nphotos/dark/0.bmp,dark,"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 13);
}

TEST_CASE("broken images and wrong settings are named") {
  const Workshop shop;
  fill(shop);
  shop.succeed(prepare_arguments);
  shop.write("photos/dark/broken.bmp", "BM");
  shop.refuse(train_arguments, "photos/dark/broken.bmp");
  const auto skipped = shop.succeed(std::string(train_arguments) + " --skip-broken");
  CHECK_THAT(skipped.err, Contains("1 broken images are left out") && Contains("broken.bmp"));
  shop.misuse("train train.onnx --data photos --epochs 1 --batch-size 4 --augment flop",
              "--augment needs settings among color, crop");
  shop.misuse("train train.onnx --data photos --epochs 1 --batch-size 4 --augment scale=1",
              "--augment scale needs two factors");
  shop.misuse("prepare net.onnx -o t.onnx --loss mse --preprocess resize=4",
              "--preprocess resize needs HEIGHTxWIDTH");
  shop.misuse("prepare net.onnx -o t.onnx --loss mse --preprocess scale=1/x", "numbers");
}
