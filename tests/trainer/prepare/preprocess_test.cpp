// Preprocessing as a part of the model.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/data_record.h>
#include <ondine/build.h>
#include <ondine/prepare.h>

#include "tests/support/models.h"
#include "tests/support/random_tensor.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

// Conv -> BatchNormalization -> Relu -> GlobalAveragePool -> Flatten -> Gemm on [N, 3, 4, 4] or
// images of any size.
ModelBuilder classifier(std::int64_t opset, bool any_size = false) {
  ModelBuilder b("classifier", opset);
  const std::string x = any_size ? b.input("x", DType::float32, {"N", 3, "H", "W"})
                                 : b.input("x", DType::float32, {"N", 3, 4, 4});
  b.node("Conv", {x, b.initializer("conv.w", random_floats({4, 3, 3, 3}, 1))}, {}, "maps");
  b.node("BatchNormalization",
         {"maps", b.initializer("bn.scale", random_floats({4}, 2, 0.5F, 2)),
          b.initializer("bn.bias", random_floats({4}, 3)),
          b.initializer("bn.mean", random_floats({4}, 4)),
          b.initializer("bn.var", random_floats({4}, 5, 0.5F, 2))},
         {}, "normal");
  b.node("Relu", {"normal"}, {}, "active");
  b.node("GlobalAveragePool", {"active"}, {}, "pooled");
  b.node("Flatten", {"pooled"}, {}, "features");
  b.node("Gemm",
         {"features", b.initializer("fc.w", random_floats({4, 5}, 6)),
          b.initializer("fc.b", random_floats({5}, 7))},
         {}, "logits");
  b.output("logits", DType::float32, {"N", 5});
  return b;
}

Tensor pixels(const Shape& shape) {
  Tensor result(DType::uint8, shape);
  unsigned state = 7;
  for (std::uint8_t& value : result.mutable_values<std::uint8_t>()) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<std::uint8_t>(state >> 24U);
  }
  return result;
}

const std::vector<float> mean{0.485F, 0.456F, 0.406F};
const std::vector<float> deviation{0.229F, 0.224F, 0.225F};

Preprocess usual() { return {.scale = 1.0 / 255, .mean = mean, .deviation = deviation}; }

// (x / 255 - mean) / deviation of [N, H, W, 3] as [N, 3, H, W].
Tensor normalized(const Tensor& raw) {
  const Shape& shape = raw.shape();
  Tensor result(DType::float32, {shape[0], 3, shape[1], shape[2]});
  const auto from = raw.values<std::uint8_t>();
  auto to = result.mutable_values<float>();
  const auto area = static_cast<std::size_t>(shape[1] * shape[2]);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t n = i / (3 * area);
    const std::size_t p = i / 3 % area;
    const std::size_t c = i % 3;
    to[(n * 3 + c) * area + p] = (static_cast<float>(from[i]) / 255.0F - mean[c]) / deviation[c];
  }
  return result;
}

void check_close(const Tensor& a, const Tensor& b, double tolerance) {
  REQUIRE(a.shape() == b.shape());
  const auto x = a.values<float>();
  const auto y = b.values<float>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(static_cast<double>(x[i]) ==
          Approx(static_cast<double>(y[i])).margin(tolerance).epsilon(tolerance));
  }
}

std::string refusal(const ModelBuilder& model, const Preprocess& options) {
  try {
    prepare(model.bytes(), {.preprocess = {options}});
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

Tensor labels() { return Tensor::of(Shape{2}, std::vector<std::int64_t>{3, 1}); }

}  // namespace

TEST_CASE("a model with preprocessing takes raw pixels, in inference, training and after export") {
  PrepareReport report;
  const PrepareOptions options{.init = WeightInit::keep, .preprocess = {usual()}};
  Model raw = prepare(classifier(17).bytes(), options, {}, &report);
  REQUIRE(raw.inputs().size() == 1);
  CHECK(raw.inputs()[0].name == "x");
  CHECK(raw.inputs()[0].dtype == DType::uint8);
  CHECK(raw.inputs()[0].dims == std::vector<std::int64_t>{-1, 4, 4, 3});
  CHECK(report.trained ==
        std::vector<std::string>{"conv.w", "bn.scale", "bn.bias", "fc.w", "fc.b"});

  const Tensor image = pixels({2, 4, 4, 3});
  Model plain = prepare(classifier(17).bytes(), {.init = WeightInit::keep});
  const Tensor input = normalized(image);
  CHECK(raw.infer({{"x", image}})["logits"].tensor().identical(
      plain.infer({{"x", input}})["logits"].tensor()));
  // BatchNormalization trains: the step has a copy of the layers.
  for (int step = 0; step < 3; ++step) {
    const double a = raw.train_step({{"x", image}, {"label", labels()}}).scalar("loss");
    const double b = plain.train_step({{"x", input}, {"label", labels()}}).scalar("loss");
    CHECK(a == b);
  }
  const Model deployed = Model::load(raw.export_inference());
  const Model expected = Model::load(plain.export_inference());
  CHECK(deployed.infer({{"x", image}})["logits"].tensor().identical(
      expected.infer({{"x", input}})["logits"].tensor()));
}

TEST_CASE("preprocessing resizes images of any size to that of the model") {
  for (const std::int64_t opset : {11, 13, 18}) {
    INFO("opset " << opset);
    Preprocess options = usual();
    options.resize = ImageSize{4, 4};
    Model raw =
        prepare(classifier(opset).bytes(), {.init = WeightInit::keep, .preprocess = {options}});
    CHECK(raw.inputs()[0].dims == std::vector<std::int64_t>{-1, -1, -1, 3});
    Model plain = prepare(classifier(opset).bytes(), {.init = WeightInit::keep});
    // Twice as high, three times as wide, each pixel repeated: a nearest or linear filter without
    // antialiasing takes the pixel itself from the middle of a block.
    const Tensor image = pixels({2, 4, 4, 3});
    Tensor large(DType::uint8, {2, 12, 12, 3});
    auto to = large.mutable_values<std::uint8_t>();
    const auto from = image.values<std::uint8_t>();
    for (std::size_t i = 0; i < to.size(); ++i) {
      const std::size_t n = i / 432;
      const std::size_t y = i / 36 % 12;
      const std::size_t x = i / 3 % 12;
      to[i] = from[n * 48 + y / 3 * 12 + x / 3 * 3 + i % 3];
    }
    const Tensor same = raw.infer({{"x", image}})["logits"].tensor();
    check_close(same, plain.infer({{"x", normalized(image)}})["logits"].tensor(), 1e-5);
    if (opset < 18) check_close(raw.infer({{"x", large}})["logits"].tensor(), same, 1e-5);
    // With antialiasing the filter reaches into neighbouring blocks: 1, 2, 3, 2, 1 ninths of a row.
    if (opset < 18) continue;
    Tensor even(DType::uint8, {1, 12, 12, 3});
    std::fill_n(even.mutable_values<std::uint8_t>().data(), even.size(), std::uint8_t{77});
    Tensor small(DType::uint8, {1, 4, 4, 3});
    std::fill_n(small.mutable_values<std::uint8_t>().data(), small.size(), std::uint8_t{77});
    check_close(raw.infer({{"x", even}})["logits"].tensor(),
                raw.infer({{"x", small}})["logits"].tensor(), 1e-5);
  }
}

TEST_CASE("preprocessing of a model with dynamic size fixes it, and channels first stay first") {
  Preprocess options{
      .layout = Layout::nchw, .resize = ImageSize{5, 6}, .scale = 0.25, .mean = {0.485F, 1, 2}};
  Model raw =
      prepare(classifier(18, true).bytes(), {.init = WeightInit::keep, .preprocess = {options}});
  CHECK(raw.inputs()[0].dims == std::vector<std::int64_t>{-1, 3, -1, -1});
  CHECK(raw.infer({{"x", pixels({1, 3, 9, 8})}})["logits"].tensor().shape() == Shape{1, 5});
  const DataRecord record = data_record(raw);
  REQUIRE(record.preprocessing.size() == 1);
  CHECK(record.preprocessing[0].input == "x");
  CHECK(record.preprocessing[0].description == "uint8 nchw resize 5x6 scale 1/4 mean 0.485:1:2");
  CHECK(record.preprocessing[0].resize->width == 6);
  CHECK(record.preprocessing[0].antialias);
}

TEST_CASE("numbers of a table are centred and divided by the last axis") {
  ModelBuilder b("linear");
  const std::string x = b.input("x", DType::float32, {"N", 2});
  b.node("MatMul", {x, b.initializer("w", Tensor::of(Shape{2, 1}, std::vector<float>{1, 10}))}, {},
         "y");
  b.output("y", DType::float32, {"N", 1});
  const Preprocess options{.type = DType::float32, .mean = {1, 2}, .deviation = {2, 4}};
  Model model =
      prepare(b.bytes(), {.loss = Loss::mse, .init = WeightInit::keep, .preprocess = {options}});
  const Tensor input = Tensor::of(Shape{1, 2}, std::vector<float>{4, 12});
  CHECK(model.infer({{"x", input}})["y"].tensor().item<float>() == 1.5F + 25);
}

TEST_CASE("preprocessing that does not fit is refused by what was needed") {
  Preprocess options = usual();
  options.input = "image";
  CHECK_THAT(refusal(classifier(17), options),
             Contains("'image'") && Contains("'x' float[N, 3, 4, 4]"));
  options = usual();
  options.mean = {0.5F, 0.5F};
  CHECK_THAT(refusal(classifier(17), options),
             Contains("mean has 2") && Contains("has 3 channels"));
  options = usual();
  options.deviation = {1, 0, 1};
  CHECK_THAT(refusal(classifier(17), options), Contains("positive"));
  options = usual();
  options.resize = ImageSize{4, 5};
  CHECK_THAT(refusal(classifier(17), options), Contains("4x5"));
  CHECK_THAT(refusal(classifier(10), {.resize = ImageSize{4, 4}}), Contains("ai.onnx 11"));
  CHECK_THAT(refusal(classifier(17), {.type = DType::string}), Contains("string"));
  CHECK_THAT(refusal(classifier(17), {.type = DType::float32, .layout = Layout::nchw}),
             Contains("nothing to preprocess"));
  CHECK_THAT(refusal(classifier(17), {.scale = 0}), Contains("scale"));
}
