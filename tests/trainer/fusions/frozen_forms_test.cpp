// Frozen matrices that several readers hold in a lower precision, or in forms of their own.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/build.h>
#include <ondine/prepare.h>

#include "core/float_formats.h"
#include "tests/support/frozen_network.h"
#include "tests/support/random_tensor.h"
#include "tests/support/relative_difference.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;

namespace {

constexpr std::int64_t size = 300;

Tensor narrow(const Tensor& floats, DType dtype) {
  Tensor result(dtype, floats.shape());
  const auto from = floats.values<float>();
  if (dtype == DType::float16) {
    std::ranges::transform(from, result.mutable_values<float16>().begin(), to_float16);
  } else {
    std::ranges::transform(from, result.mutable_values<bfloat16>().begin(), to_bfloat16);
  }
  return result;
}

std::vector<float> infer(const std::filesystem::path& file, const NamedValues& feeds,
                         Precision precision) {
  const Model model = Model::load(file, {.precision = precision});
  std::vector<float> all;
  for (const auto& [name, value] : model.infer(feeds)) {
    const auto values = value.tensor().values<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

// The relative difference of results for an x of [rows, size].
double difference_from_float32(const std::filesystem::path& file, Precision precision,
                               std::int64_t rows) {
  const NamedValues feeds{{"x", random_floats({rows, size}, 4)}};
  return relative_difference(infer(file, feeds, precision), infer(file, feeds, Precision::float32));
}

ModelBuilder::Attributes to_float32() {
  return {{"to", static_cast<std::int64_t>(DType::float32)}};
}

}  // namespace

TEST_CASE("matrices that a file holds in 16 bits keep their numbers in every precision") {
  const DType dtype = GENERATE(DType::float16, DType::bfloat16);
  const bool transposed = GENERATE(false, true);
  const auto precision = GENERATE(Precision::bfloat16, Precision::int8);
  const TemporaryFolder folder;
  ModelBuilder b("half");
  const auto x = b.input("x", DType::float32, {"N", size});
  std::string w = b.node(
      "Cast", {b.initializer("w", narrow(random_floats({size, size}, 1), dtype))}, to_float32());
  if (transposed) w = b.node("Transpose", {w});
  b.output(b.node("MatMul", {x, w}), DType::float32, {"N", size});
  const auto file = folder / "half.onnx";
  b.save(file);
  CHECK(difference_from_float32(file, precision, 40) < 0.013);
  CHECK(difference_from_float32(file, precision, 3) < 0.013);
}

TEST_CASE("a matrix that graphs multiply by in both orientations has one form in 8 bits") {
  // Inference multiplies by w first, the step by its transposed.
  const TemporaryFolder folder;
  ModelBuilder b("orientations");
  const auto x = b.input("x", DType::float32, {"N", size});
  const auto scale = b.initializer("scale", random_floats({size}, 1));
  const auto w = b.initializer("w", random_floats({size, size}, 2, -0.1F, 0.1F));
  const auto h = b.node("Tanh", {b.node("MatMul", {b.node("Mul", {x, scale}), w})});
  b.output(b.node("MatMul", {h, b.node("Transpose", {w})}), DType::float32, {"N", size});
  const auto file = folder / "plain.onnx";
  b.save(file);
  CHECK(difference_from_float32(file, Precision::int8, 40) < 0.03);
  PrepareOptions options;
  options.init = WeightInit::keep;
  options.train = {"scale"};
  options.freeze = {"w"};
  options.loss = Loss::mse;
  const auto training = folder / "train.onnx";
  prepare(file, training, options);
  const auto loss = [&](Precision precision) {
    Model model = Model::load(training, {.precision = precision});
    const NamedValues feeds{{"x", random_floats({40, size}, 4)},
                            {"label", random_floats({40, size}, 5)}};
    model.train_step(feeds);
    return model.train_step(feeds)["loss"].tensor().item<float>();
  };
  CHECK(loss(Precision::int8) == Approx(loss(Precision::float32)).epsilon(0.01));
}

TEST_CASE("elements of a narrow range beside a zero point keep their digits in 8 bits") {
  const bool transposed = GENERATE(false, true);
  const TemporaryFolder folder;
  ModelBuilder b("narrow", 21);
  const auto x = b.input("x", DType::float32, {"N", size});
  Tensor elements(DType::int8, {size, size});
  const Tensor floats = random_floats({size, size}, 2, -104, -95);
  auto* to = static_cast<std::int8_t*>(elements.mutable_data());
  for (const float each : floats.values<float>()) *to++ = static_cast<std::int8_t>(each);
  Tensor zero(DType::int8, {});
  *static_cast<std::int8_t*>(zero.mutable_data()) = -100;
  std::string w = b.node("DequantizeLinear", {b.initializer("elements", elements),
                                              b.initializer("scale", Tensor::scalar(0.01F)),
                                              b.initializer("zero", zero)});
  if (transposed) w = b.node("Transpose", {w});
  b.output(b.node("MatMul", {x, w}), DType::float32, {"N", size});
  const auto file = folder / "narrow.onnx";
  b.save(file);
  CHECK(difference_from_float32(file, Precision::int8, 40) < 0.013);
}

TEST_CASE("derivatives of a loss by scores do not pass 8 bits") {
  const TemporaryFolder folder;
  ModelBuilder b("head");
  const auto x = b.input("x", DType::float32, {"N", size});
  const auto scale = b.initializer("scale", random_floats({size}, 1));
  const auto head = b.initializer("head", random_floats({size, 700}, 3, -0.1F, 0.1F));
  b.output(b.node("MatMul", {b.node("Mul", {x, scale}), head}), DType::float32, {"N", 700});
  const auto plain = folder / "plain.onnx", file = folder / "train.onnx";
  b.save(plain);
  prepare(plain, file, options_for_scale({"head"}, 1));
  const auto step = [&](Precision precision) {
    Model model = Model::load(file, {.precision = precision});
    Tensor labels(DType::int64, {64});
    std::int64_t next = 0;
    for (std::int64_t& label : labels.mutable_values<std::int64_t>()) label = next++ * 7;
    const std::vector<float> before = [&] {
      const Tensor tensor = model.get_state("scale");
      return std::vector<float>(tensor.values<float>().begin(), tensor.values<float>().end());
    }();
    model.train_step({{"x", random_floats({64, size}, 9)}, {"label", labels}});
    const Tensor after = model.get_state("scale");
    std::vector<float> moved;
    for (std::size_t i = 0; i < before.size(); ++i) {
      moved.push_back(after.values<float>()[i] - before[i]);
    }
    return moved;
  };
  CHECK(relative_difference(step(Precision::int8), step(Precision::float32)) < 0.012);
}

TEST_CASE("a column that is not a number is none in 8 bits, and no other is") {
  const auto place = GENERATE(0, 5, 299);
  const TemporaryFolder folder;
  ModelBuilder b("odd");
  Tensor w = random_floats({size, size}, 2);
  w.mutable_values<float>()[static_cast<std::size_t>(place * size + 17)] = std::nanf("");
  const auto x = b.input("x", DType::float32, {"N", size});
  b.output(b.node("MatMul", {x, b.initializer("w", w)}), DType::float32, {"N", size});
  const auto file = folder / "odd.onnx";
  b.save(file);
  const auto found = infer(file, {{"x", random_floats({20, size}, 4)}}, Precision::int8);
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(std::isnan(found[i]) == (i % size == 17));
}
