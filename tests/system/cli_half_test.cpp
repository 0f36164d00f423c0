// A convolutional network in float16, from prepare to eval, beside the same network in float32.
#include <catch2/catch.hpp>
#include <random>

#include <ondine/build.h>
#include <ondine/data.h>
#include <ondine/model.h>

#include "core/float_formats.h"
#include "tests/system/run/cli_run.h"

using cli_test::Workshop;
using namespace ondine;

namespace {

constexpr std::int64_t classes = 3;

float drawn(std::mt19937& random, float scale) {
  return scale * (static_cast<float>(random() % 2000) / 1000.0F - 1);
}

Tensor weight(DType dtype, const Shape& shape, std::mt19937& random, float scale) {
  Tensor tensor(dtype, shape);
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.size()); ++i) {
    const float16 value = to_float16(drawn(random, scale));
    if (dtype == DType::float16) tensor.mutable_values<float16>()[i] = value;
    if (dtype == DType::float32) tensor.mutable_values<float>()[i] = to_float(value);
  }
  return tensor;
}

Tensor filled(DType dtype, std::int64_t size, float value) {
  Tensor tensor(dtype, {size});
  for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
    if (dtype == DType::float16) tensor.mutable_values<float16>()[i] = to_float16(value);
    if (dtype == DType::float32) tensor.mutable_values<float>()[i] = value;
  }
  return tensor;
}

void write_network(const std::filesystem::path& file, DType dtype) {
  std::mt19937 random(5);
  ModelBuilder b("cnn");
  b.input("x", dtype, {"N", 1, 8, 8});
  const ModelBuilder::Attributes same{{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
  const auto initializer = [&](const char* name, const Shape& shape, float scale) {
    return b.initializer(name, weight(dtype, shape, random, scale));
  };
  std::string h = b.node("Conv", {"x", initializer("conv1.w", {6, 1, 3, 3}, 0.3F)}, same);
  h = b.node("BatchNormalization", {h, b.initializer("bn.scale", filled(dtype, 6, 1)),
                                    b.initializer("bn.bias", filled(dtype, 6, 0)),
                                    b.initializer("bn.mean", filled(dtype, 6, 0)),
                                    b.initializer("bn.var", filled(dtype, 6, 1))});
  h = b.node("Relu", {h});
  h = b.node("MaxPool", {h},
             {{"kernel_shape", std::vector<std::int64_t>{2, 2}},
              {"strides", std::vector<std::int64_t>{2, 2}}});
  h = b.node("Conv", {h, initializer("conv2.w", {8, 6, 3, 3}, 0.2F)}, same);
  h = b.node("Flatten", {b.node("GlobalAveragePool", {b.node("Relu", {h})})});
  b.node("Gemm", {h, initializer("fc.w", {8, classes}, 0.4F), initializer("fc.b", {classes}, 0.1F)},
         {}, "logits");
  b.output("logits", dtype, {"N", classes});
  b.save(file);
}

// Stripes along rows, along columns and both, with noise.
void write_images(const Workshop& shop, const std::string& split, std::int64_t rows) {
  std::mt19937 random(static_cast<unsigned>(rows));
  Tensor x(DType::float32, {rows, 1, 8, 8});
  Tensor y(DType::int64, {rows});
  for (std::int64_t i = 0; i < rows; ++i) {
    y.mutable_values<std::int64_t>()[static_cast<std::size_t>(i)] = i % classes;
    for (std::int64_t p = 0; p < 64; ++p) {
      const bool row = (p / 8) % 2 == 0;
      const bool column = p % 2 == 0;
      const bool on = i % classes == 0 ? row : i % classes == 1 ? column : row != column;
      x.mutable_values<float>()[static_cast<std::size_t>(i * 64 + p)] =
          (on ? 1.0F : 0.0F) + drawn(random, 0.4F);
    }
  }
  save_array(shop / ("images/x_" + split + ".npy"), x);
  save_array(shop / ("images/y_" + split + ".npy"), y);
}

double last_number(const std::string& text, const std::string& key) {
  const std::size_t at = text.rfind(key);
  REQUIRE(at != std::string::npos);
  return std::stod(text.substr(at + key.size()));
}

}  // namespace

TEST_CASE("a float16 network trains to the loss of float32 and stays float16") {
  const Workshop shop;
  std::filesystem::create_directory(shop / "images");
  write_images(shop, "train", 96);
  write_images(shop, "test", 48);
  const std::string prepare =
      " --loss softmax-cross-entropy --optimizer adam --learning-rate 0.02 --init keep --label y";
  const std::string run = " --data images --batch-size 16 --seed 3 --metrics ";
  double losses[2] = {};
  for (const DType dtype : {DType::float32, DType::float16}) {
    const std::string name = dtype == DType::float16 ? "half" : "full";
    write_network(shop / (name + ".onnx"), dtype);
    const std::string said =
        shop.succeed("prepare " + name + ".onnx -o " + name + "_train.onnx" + prepare).out;
    CHECK((said.find("dynamic from 65536") != std::string::npos) == (dtype == DType::float16));
    shop.succeed("train " + name + "_train.onnx --epochs 12 -o " + name + "_out.onnx" + run + name +
                 ".jsonl --checkpoint " + name + ".ckpt");
    losses[dtype == DType::float16 ? 1 : 0] = last_number(shop.read(name + ".jsonl"), "\"loss\":");
    const std::string score = shop.succeed("eval " + name + "_out.onnx --data images").out;
    INFO(score);
    CHECK(last_number(score, "accuracy ") > 0.9);
  }
  CHECK(losses[0] < 0.4);
  CHECK(losses[1] == Approx(losses[0]).epsilon(0.05).margin(0.01));

  const Model trained = Model::load(shop / "half_out.onnx");
  CHECK(trained.outputs()[0].dtype == DType::float16);
  CHECK(std::filesystem::file_size(shop / "half_out.onnx") <
        std::filesystem::file_size(shop / "full_out.onnx"));

  shop.succeed("train half_train.onnx --epochs 5" + run + "part.jsonl --checkpoint parts.ckpt");
  shop.succeed("train half_train.onnx --epochs 12 -o parts.onnx" + run +
               "part.jsonl --checkpoint parts.ckpt --resume");
  CHECK(shop.read("parts.onnx") == shop.read("half_out.onnx"));
  shop.succeed("export half_train.onnx --checkpoint half.ckpt -o go_on.onnx --training");
  shop.succeed("train go_on.onnx --epochs 1" + run + "more.jsonl");
  CHECK(last_number(shop.read("more.jsonl"), "\"loss\":") < losses[1] + 0.1);
}

TEST_CASE("the loss scale is dynamic, a number or none") {
  const Workshop shop;
  write_network(shop / "half.onnx", DType::float16);
  const std::string prepare =
      "prepare half.onnx -o train.onnx --loss softmax-cross-entropy --loss-scale ";
  CHECK_THAT(shop.succeed(prepare + "1024").out, Catch::Contains("of the loss, 1024"));
  CHECK_THAT(shop.succeed(prepare + "none").out, !Catch::Contains("of the loss,"));
  CHECK_THAT(shop.succeed(prepare + "dynamic").out, Catch::Contains("dynamic from 65536"));
  shop.refuse(prepare + "0", "[2^-64, 2^64]");
  CHECK(shop.run(prepare + "much").exit_code == 2);
}
