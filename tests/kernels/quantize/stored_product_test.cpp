// Models with products of few rows by frozen weights of few bits, which are read where they lie.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>

#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include "core/packed_elements.h"
#include "tests/support/op_harness.h"
#include "tests/support/resident_bytes.h"

namespace ondine::test {
namespace {

constexpr std::int64_t deep = 512, wide = 640, block = 32;

// Element i of each row: the low bits of a byte first.
Tensor nibbles(const Shape& shape) {
  Tensor bytes(DType::uint8, shape);
  auto all = bytes.mutable_values<std::uint8_t>();
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint8_t>(i * 37 % 251);
  return bytes;
}

struct Weights {
  Tensor bytes = nibbles({wide, deep / block, block / 2});
  Tensor scales = random_floats({wide * (deep / block)}, 2, 0.01F, 0.1F);
  Tensor points;  // undefined: 8

  double number(std::int64_t j, std::int64_t p) const {
    const std::int64_t at = j * deep + p;
    const int byte = bytes.values<std::uint8_t>()[static_cast<std::size_t>(at / 2)];
    const auto s = static_cast<std::size_t>(at / block);
    int zero = 8;
    if (points.defined()) {
      const int pair = points.values<std::uint8_t>()[s / 2];
      zero = s % 2 == 0 ? pair & 15 : pair >> 4;
    }
    return ((at % 2 == 0 ? byte & 15 : byte >> 4) - zero) * double{scales.values<float>()[s]};
  }
};

std::vector<std::byte> network(const Weights& w, bool biased) {
  ModelBuilder b("blocks", 17);
  const std::string q = b.initializer("fc.blocks", w.bytes);
  const std::string s = b.initializer("fc.scales", w.scales);
  const std::string z = w.points.defined() ? b.initializer("fc.points", w.points) : "";
  const std::string bias = biased ? b.initializer("fc.bias", random_floats({wide}, 3)) : "";
  b.input("x", DType::float32, {"N", deep});
  b.node("MatMulNBits", "com.microsoft", {"x", q, s, z, "", bias}, {"y"},
         {{"K", deep}, {"N", wide}, {"bits", 4L}, {"block_size", block}});
  b.output("y", DType::float32, {"N", wide});
  return b.bytes();
}

bool fuses() { return std::getenv("ONDINE_NO_FUSION") == nullptr; }

double worst_error(const Tensor& y, const Tensor& x, const Weights& w, const Tensor& bias) {
  double worst = 0;
  for (std::int64_t i = 0; i < x.shape()[0]; ++i) {
    for (std::int64_t j = 0; j < wide; ++j) {
      double sum = bias.defined() ? double{bias.values<float>()[static_cast<std::size_t>(j)]} : 0;
      double magnitude = 1;
      for (std::int64_t p = 0; p < deep; ++p) {
        const double term =
            double{x.values<float>()[static_cast<std::size_t>(i * deep + p)]} * w.number(j, p);
        sum += term;
        magnitude += std::abs(term);
      }
      const double got = double{y.values<float>()[static_cast<std::size_t>(i * wide + j)]};
      worst = std::max(worst, std::abs(got - sum) / magnitude);
    }
  }
  return worst;
}

std::string implementation(const Model& model, const NamedValues& feeds) {
  PlanRequest request;
  for (const auto& [name, value] : feeds) {
    request.shapes.emplace_back(name, value.tensor().shape());
  }
  for (const PlannedOperator& node : model.plan_report(request).nodes) {
    if (node.op.find("DequantizeMatMul") != std::string::npos) return node.implementation;
  }
  return "";
}

}  // namespace

TEST_CASE("blocks of MatMulNBits are read as they lie, with any zero points and bias") {
  Weights w;
  const bool has_points = GENERATE(false, true);
  const bool biased = GENERATE(false, true);
  if (has_points) w.points = nibbles({wide * (deep / block) / 2});
  const Model model = Model::load(network(w, biased));
  for (const std::int64_t rows : {1, 3, 7, 8, 40}) {
    const Tensor x = random_floats({rows, deep}, 4);
    const Tensor y = model.infer({{"x", x}})["y"].tensor();
    CHECK(worst_error(y, x, w, biased ? random_floats({wide}, 3) : Tensor()) < 1e-6);
    if (fuses()) CHECK((implementation(model, {{"x", x}}) == "stored") == (rows < 8));
  }
}

TEST_CASE("products that read their weights as they lie have the same bits for 1 and 3 threads") {
  const auto bytes = network(Weights(), true);
  LoadOptions one, three;
  three.threads = 3;
  const Model a = Model::load(bytes, one), b = Model::load(bytes, three);
  for (const std::int64_t rows : {1, 5}) {
    const NamedValues feeds{{"x", random_floats({rows, deep}, 4)}};
    CHECK(a.infer(feeds)["y"].tensor().identical(b.infer(feeds)["y"].tensor()));
  }
}

TEST_CASE("derivatives pass through products that read their weights as they lie") {
  ModelBuilder b("network", 21);
  const Weights w;
  std::string x = b.input("x", DType::float32, {"N", 8});
  x = b.node("MatMul", {x, b.initializer("first", random_floats({8, deep}, 5, -0.2F, 0.2F))});
  b.node("MatMulNBits", "com.microsoft",
         {x, b.initializer("fc.blocks", w.bytes), b.initializer("fc.scales", w.scales)}, {"y"},
         {{"K", deep}, {"N", wide}, {"bits", 4L}, {"block_size", block}});
  b.output("y", DType::float32, {"N", wide});
  PrepareOptions options;
  options.loss = Loss::mse;
  options.init = WeightInit::keep;
  options.optimizer = Sgd{.learning_rate = 1};
  options.train = {"first"};
  Model model = prepare(b.bytes(), options);
  LoadOptions plainly;
  plainly.optimize = false;
  Model plain = prepare(b.bytes(), options, plainly);
  const NamedValues feeds{{"x", random_floats({3, 8}, 6)}, {"label", random_floats({3, wide}, 7)}};
  for (int step = 0; step < 3; ++step) {
    const double got = model.train_step(feeds).scalar("loss");
    CHECK(got == Approx(plain.train_step(feeds).scalar("loss")).epsilon(1e-5));
  }
  check_close(model.get_state("first"), plain.get_state("first"), {1e-4, 1e-5});
}

TEST_CASE("weights of 4 bits are not resident in more while few rows are computed") {
  constexpr std::int64_t size = 4096;
  ModelBuilder b("network", 17);
  std::string x = b.input("x", DType::float32, {"N", size});
  for (int i = 0; i < 2; ++i) {
    const std::string y = "y" + std::to_string(i);
    b.node("MatMulNBits", "com.microsoft",
           {x, b.initializer("q" + y, nibbles({size, size / block, block / 2})),
            b.initializer("s" + y, random_floats({size * (size / block)}, 2, 0.001F, 0.002F))},
           {y}, {{"K", size}, {"N", size}, {"bits", 4L}, {"block_size", block}});
    x = y;
  }
  b.output(x, DType::float32, {"N", size});
  const std::vector<std::byte> bytes = b.bytes();
  const NamedValues feeds{{"x", random_floats({1, size}, 4)}};
  const std::size_t before = resident_bytes();
  const Model model = Model::load(bytes);
  model.infer(feeds);
  const std::size_t held = model.plan(feeds, std::nullopt).constant_bytes;
  if (!fuses()) return;
  constexpr std::size_t elements = std::size_t{2} * size * size;
  CHECK(held < elements * 3 / 4);  // half a byte, an eighth for scales
  if (before > 0) CHECK(resident_bytes() < before + elements + (std::size_t{8} << 20));
}

}  // namespace ondine::test
