// Products by frozen matrices under Precision::int8.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include <ondine/build.h>
#include <ondine/error.h>
#include <ondine/prepare.h>

#include "core/float_formats.h"
#include "tests/support/frozen_network.h"
#include "tests/support/random_tensor.h"
#include "tests/support/relative_difference.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;

namespace {

constexpr std::int64_t depth = 330;
constexpr std::int64_t columns = 290;

// How a file holds the matrix [depth, columns], or its transposed.
enum class Held { float32, float16, int8, int8_by_term, int8_whole, uint8, int4_blocks, nf4 };

Tensor bytes_of(const Tensor& floats, DType dtype, float low) {
  Tensor result(dtype, floats.shape());
  auto* to = static_cast<std::int8_t*>(result.mutable_data());
  for (const float x : floats.values<float>()) {
    *to++ = static_cast<std::int8_t>(std::floor(x - (low < 0 ? 0 : low)));
  }
  return result;
}

std::string dequantized(ModelBuilder& b, Held held, const Shape& shape, std::size_t terms_axis) {
  const auto dims = [&](std::int64_t block) {
    Shape scales = shape;
    std::vector<std::int64_t> all(shape.span().begin(), shape.span().end());
    all[terms_axis] = (all[terms_axis] + block - 1) / block;
    return Shape(std::span<const std::int64_t>(all));
  };
  const std::int64_t channel_axis = terms_axis == 0 ? 1 : 0;
  const auto scale = [&](const Shape& s) {
    return b.initializer("scale", random_floats(s, 7, 0.001F, 0.003F));
  };
  const auto linear = [&](const Tensor& elements, const std::string& scales, std::int64_t axis,
                          std::int64_t block, const Tensor& zero) {
    std::vector<std::string> inputs{b.initializer("elements", elements), scales};
    if (zero.defined()) inputs.push_back(b.initializer("zero", zero));
    if (block > 0)
      return b.node("DequantizeLinear", inputs, {{"axis", axis}, {"block_size", block}});
    return b.node("DequantizeLinear", inputs, {{"axis", axis}});
  };
  const Tensor eight = bytes_of(random_floats(shape, 2, -127, 127), DType::int8, -127);
  const auto terms = static_cast<std::int64_t>(terms_axis);
  switch (held) {
    case Held::float32:
      return b.initializer("w", random_floats(shape, 2, -0.1F, 0.1F));
    case Held::float16: {
      Tensor half(DType::float16, shape);
      const Tensor floats = random_floats(shape, 2, -0.1F, 0.1F);
      std::ranges::transform(floats.values<float>(), half.mutable_values<float16>().begin(),
                             to_float16);
      return b.node("Cast", {b.initializer("w", half)},
                    {{"to", static_cast<std::int64_t>(DType::float32)}});
    }
    case Held::int8:
      return linear(eight, scale({shape[terms_axis == 0 ? 1 : 0]}), channel_axis, 0, {});
    case Held::int8_by_term:
      return linear(eight, scale({shape[terms_axis]}), terms, 0, {});
    case Held::int8_whole:
      return linear(eight, b.initializer("scale", Tensor::scalar(0.001F)), 1, 0, {});
    case Held::uint8: {
      const Tensor elements = bytes_of(random_floats(shape, 2, 0, 255), DType::uint8, 0);
      const Shape each{shape[terms_axis == 0 ? 1 : 0]};
      return linear(elements, scale(each), channel_axis, 0,
                    bytes_of(random_floats(each, 3, 100, 150), DType::uint8, 0));
    }
    case Held::int4_blocks:
      return linear(bytes_of(random_floats(shape, 2, -8, 7.9F), DType::int4, -8), scale(dims(32)),
                    terms, 32, {});
    case Held::nf4:
      break;
  }
  const Tensor elements = bytes_of(random_floats(shape, 2, 0, 15.9F), DType::uint4, 0);
  Tensor levels(DType::float32, {16});
  for (std::size_t i = 0; i < 16; ++i) {
    const float x = static_cast<float>(i) / 7.5F - 1;
    levels.mutable_values<float>()[i] = x * std::abs(x);
  }
  Tensor blocks(DType::int64, {shape[terms_axis]});
  std::int64_t next = 0;
  for (std::int64_t& block : blocks.mutable_values<std::int64_t>()) block = next++ / 64;
  const auto index = b.node("Cast", {b.initializer("elements", elements)},
                            {{"to", static_cast<std::int64_t>(DType::int32)}});
  return b.node("Mul", {b.node("Gather", {b.initializer("levels", levels), index}),
                        b.node("Gather", {scale(dims(64)), b.initializer("blocks", blocks)},
                               {{"axis", terms}})});
}

std::filesystem::path save_product(const TemporaryFolder& folder, Held held, bool transposed,
                                   bool biased) {
  ModelBuilder b("product", 21);
  const Shape shape = transposed ? Shape{columns, depth} : Shape{depth, columns};
  const auto x = b.input("x", DType::float32, {"N", depth});
  std::string w = dequantized(b, held, shape, transposed ? 1 : 0);
  if (transposed) w = b.node("Transpose", {w});
  std::string y = b.node("MatMul", {x, w});
  if (biased) y = b.node("Add", {y, b.initializer("bias", random_floats({columns}, 5))});
  b.output(y, DType::float32, {"N", columns});
  auto file = folder / "product.onnx";
  b.save(file);
  return file;
}

std::vector<float> infer(const std::filesystem::path& file, const Tensor& x, Precision precision,
                         int threads = 1) {
  const Model model = Model::load(file, {.threads = threads, .precision = precision});
  const Tensor y = model.infer({{"x", x}})[0].second.tensor();
  const auto values = y.values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE(
    "products by frozen matrices in 8 bits are near those in float32, however they are held") {
  const auto held = GENERATE(Held::float32, Held::float16, Held::int8, Held::int8_by_term,
                             Held::int8_whole, Held::uint8, Held::int4_blocks, Held::nf4);
  const bool transposed = GENERATE(false, true);
  const bool biased = GENERATE(false, true);
  INFO(static_cast<int>(held) << (transposed ? " transposed" : "") << (biased ? " biased" : ""));
  const TemporaryFolder folder;
  const auto file = save_product(folder, held, transposed, biased);
  const Tensor x = random_floats({50, depth}, 4);
  const auto found = infer(file, x, Precision::int8);
  const double difference = relative_difference(found, infer(file, x, Precision::float32));
  CHECK(difference < 0.01);
  CHECK(difference > 1e-4);  // they are not float32
  CHECK(infer(file, x, Precision::int8, 3) == found);
}

TEST_CASE("products in 8 bits of whole numbers up to 127 by stored bytes are exact") {
  const bool transposed = GENERATE(false, true);
  const TemporaryFolder folder;
  const auto file = save_product(folder, Held::int8_whole, transposed, false);
  Tensor x(DType::float32, {70, depth});
  const Tensor numbers = random_floats(x.shape(), 4, -126, 126);
  std::ranges::transform(numbers.values<float>(), x.mutable_values<float>().begin(),
                         [](float each) { return std::nearbyint(each); });
  for (std::int64_t i = 0; i < 70; ++i) {
    x.mutable_values<float>()[static_cast<std::size_t>(i * depth + i)] = i % 2 == 0 ? 127 : -127;
  }
  const auto found = infer(file, x, Precision::int8);
  const auto wanted = infer(file, x, Precision::float32);
  CHECK(relative_difference(found, wanted) < 1e-6);
}

TEST_CASE("a row that is not finite spoils its own results in 8 bits, and a row of zeros is one") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const TemporaryFolder folder;
  const auto file = save_product(folder, Held::float32, false, false);
  Tensor x = random_floats({40, depth}, 4);
  const auto clean = infer(file, x, Precision::int8);
  const auto values = x.mutable_values<float>();
  values[7 * depth + 5] = infinity;
  values[9 * depth + 300] = std::nanf("");
  std::fill_n(values.begin() + 11 * depth, depth, 0.0F);
  const auto found = infer(file, x, Precision::int8);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::size_t row = i / columns;
    if (row == 7 || row == 9) {
      CHECK(std::isnan(found[i]));
    } else {
      CHECK(found[i] == (row == 11 ? 0 : clean[i]));
    }
  }
}

TEST_CASE("a column that is not finite is NaN in 8 bits, and no other is") {
  const TemporaryFolder folder;
  ModelBuilder b("product", 21);
  Tensor w = random_floats({depth, columns}, 2);
  w.mutable_values<float>()[5 * columns + 17] = std::numeric_limits<float>::infinity();
  const auto x = b.input("x", DType::float32, {"N", depth});
  b.output(b.node("MatMul", {x, b.initializer("w", w)}), DType::float32, {"N", columns});
  const auto file = folder / "product.onnx";
  b.save(file);
  const auto found = infer(file, random_floats({20, depth}, 4), Precision::int8);
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(std::isnan(found[i]) == (i % columns == 17));
  }
}

namespace {

constexpr std::int64_t classes = 300;

std::filesystem::path save_network(const TemporaryFolder& folder) {
  return save_frozen_network(folder, {depth, columns, classes, 2});
}

NamedValues batch(std::int64_t rows) {
  Tensor labels(DType::int64, {rows});
  std::int64_t next = 0;
  for (std::int64_t& label : labels.mutable_values<std::int64_t>()) label = next++ % 11;
  return {{"x", random_floats({rows, depth}, 9)}, {"label", labels}};
}

}  // namespace

TEST_CASE(
    "training behind matrices in 8 bits follows training in float32, with the same bits for "
    "any number of threads") {
  const TemporaryFolder folder;
  const auto file = save_network(folder);
  const auto losses = [&](Precision precision, int threads) {
    Model model = Model::load(file, {.threads = threads, .precision = precision});
    std::vector<float> result;
    for (int i = 0; i < 20; ++i) {
      result.push_back(model.train_step(batch(64))["loss"].tensor().item<float>());
    }
    return result;
  };
  const auto full = losses(Precision::float32, 1);
  const auto bytes = losses(Precision::int8, 1);
  CHECK(losses(Precision::int8, 3) == bytes);
  CHECK(bytes != full);
  REQUIRE(full.front() - full.back() > 0.1F);
  CHECK(bytes.front() == Approx(full.front()).epsilon(0.002));
  CHECK(bytes.front() - bytes.back() == Approx(full.front() - full.back()).epsilon(0.05));
}

TEST_CASE("frozen float32 matrices take a quarter of the memory in 8 bits") {
  const TemporaryFolder folder;
  const auto file = save_network(folder);
  const auto constants = [&](Precision precision) {
    return Model::load(file, {.precision = precision}).plan(batch(64), 0).constant_bytes;
  };
  constexpr std::uint64_t elements = depth * columns + columns * classes;
  const std::uint64_t saved = constants(Precision::float32) - constants(Precision::int8);
  CHECK(saved > 3 * elements - 16384);
  CHECK(saved <= 3 * elements);
}

TEST_CASE("products of few rows read the matrix in 8 bits with the precision of float32") {
  const TemporaryFolder folder;
  const auto file = save_product(folder, Held::float32, false, true);
  const Tensor few = random_floats({3, depth}, 4);
  const double difference =
      relative_difference(infer(file, few, Precision::int8), infer(file, few, Precision::float32));
  CHECK(difference < 0.005);  // of the matrix alone
  const auto bytes = save_product(folder, Held::int8, false, true);
  CHECK(infer(bytes, few, Precision::int8) == infer(bytes, few, Precision::float32));
}

TEST_CASE("matrices in 8 bits under a budget are read in turns, with the same bits") {
  const TemporaryFolder folder;
  const auto file = save_network(folder);
  LoadOptions options{.precision = Precision::int8};
  Model ample = Model::load(file, options);
  const PlanInfo plan = ample.plan(batch(64), 0);
  options.memory_budget = plan.arena_bytes + plan.constant_bytes + plan.state_bytes - 50000;
  Model lean = Model::load(file, options);
  CHECK(lean.plan(batch(64), 0).constant_bytes < plan.constant_bytes);
  for (int i = 0; i < 3; ++i) {
    CHECK(lean.train_step(batch(64))["loss"].tensor().item<float>() ==
          ample.train_step(batch(64))["loss"].tensor().item<float>());
  }
}

TEST_CASE("a table that a product multiplies in 8 bits is looked up so") {
  const TemporaryFolder folder;
  ModelBuilder b("network");
  const Tensor table = random_floats({classes, depth}, 5);
  const auto ids = b.input("ids", DType::int64, {"N"});
  const auto words = b.initializer("words", table);
  const auto x = b.node("Gather", {words, ids});
  b.output(x, DType::float32, {"N", depth});
  b.output(b.node("MatMul", {x, b.node("Transpose", {words})}), DType::float32, {"N", classes});
  const auto file = folder / "tied.onnx";
  b.save(file);
  Tensor rows(DType::int64, {20});
  std::int64_t next = 0;
  for (std::int64_t& row : rows.mutable_values<std::int64_t>()) row = next++;
  const Model model = Model::load(file, {.precision = Precision::int8});
  const Tensor found = model.infer({{"ids", rows}})[0].second.tensor();
  double worst = 0;
  for (std::size_t i = 0; i < 20 * depth; ++i) {
    const double difference = double{found.values<float>()[i]} - double{table.values<float>()[i]};
    worst = std::max(worst, std::abs(difference));
  }
  CHECK(worst > 0);
  CHECK(worst <= 2 * 0.5001 / 127);  // the largest of a row is at most 2
}

TEST_CASE("the scores of a frozen head are products in 8 bits, and their derivatives follow") {
  constexpr std::int64_t words = 4200;
  const TemporaryFolder folder;
  ModelBuilder b("network");
  const auto x = b.input("x", DType::float32, {"N", depth});
  const auto scale = b.initializer("scale", random_floats({depth}, 1));
  const auto head = b.initializer("head", random_floats({words, depth}, 3, -0.3F, 0.3F));
  const auto h = b.node("Mul", {x, scale});
  b.output(b.node("MatMul", {h, b.node("Transpose", {head})}), DType::float32, {"N", words});
  const auto plain = folder / "plain.onnx", file = folder / "head.onnx";
  b.save(plain);
  prepare(plain, file, options_for_scale({"head"}, 1));
  const auto run = [&](Precision precision, int threads) {
    Model model = Model::load(file, {.threads = threads, .precision = precision});
    std::vector<float> losses;
    for (int i = 0; i < 8; ++i) {
      losses.push_back(model.train_step(batch(150))["loss"].tensor().item<float>());
    }
    return losses;
  };
  const auto full = run(Precision::float32, 1), bytes = run(Precision::int8, 1);
  CHECK(run(Precision::int8, 2) == bytes);
  CHECK(bytes.front() != run(Precision::bfloat16, 1).front());
  CHECK(bytes.front() == Approx(full.front()).epsilon(0.001));
  REQUIRE(full.front() - full.back() > 0.05F);
  CHECK(bytes.front() - bytes.back() == Approx(full.front() - full.back()).epsilon(0.05));
}

TEST_CASE("precision int8 that computes no product in 8 bits is told") {
  const TemporaryFolder folder;
  ModelBuilder b("small");
  const auto x = b.input("x", DType::float32, {"N", 8});
  b.output(b.node("MatMul", {x, b.initializer("w", random_floats({8, 9}, 1))}), DType::float32,
           {"N", 9});
  const auto small = folder / "small.onnx";
  b.save(small);
  const auto warnings = [](const std::filesystem::path& file, Precision precision) {
    return Model::load(file, {.precision = precision}).warnings();
  };
  REQUIRE(warnings(small, Precision::int8).size() == 1);
  CHECK_THAT(warnings(small, Precision::int8)[0],
             Catch::Contains("no MatMul or plain Gemm has a frozen matrix"));
  CHECK(warnings(small, Precision::bfloat16).empty());
  CHECK_THROWS_AS(Model::load(small, {.precision = Precision::int8, .strict = true}), Error);
  const auto product = save_product(folder, Held::nf4, false, false);
  CHECK(warnings(product, Precision::int8).empty());
}
