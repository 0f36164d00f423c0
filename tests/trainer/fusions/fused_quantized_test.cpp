// Quantized networks in integers: within one quantum of the operators one by one.
#include <ondine/build.h>
#include <ondine/model.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/support/fusions_run.h"
#include "tests/support/op_harness.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text.h"

namespace ondine::test {
namespace {

using Int64s = std::vector<std::int64_t>;

// Quantized values as files of quantizers write them.
class Network {
 public:
  explicit Network(DType activations) : dtype_(activations) {
    b_.initializer("zero", Tensor::scalar(0.0F));
    b_.initializer("six", Tensor::scalar(6.0F));
  }

  // The dequantized value of x quantized.
  std::string quantized(const std::string& x, float scale, int zero) {
    const std::string name = next("q");
    b_.initializer(name + ".s", Tensor::scalar(scale));
    if (dtype_ == DType::uint8) {
      b_.initializer(name + ".z", Tensor::scalar(static_cast<std::uint8_t>(zero)));
    } else {
      b_.initializer(name + ".z", Tensor::scalar(static_cast<std::int8_t>(zero)));
    }
    const std::string q = b_.node("QuantizeLinear", {x, name + ".s", name + ".z"});
    return b_.node("DequantizeLinear", {q, name + ".s", name + ".z"});
  }
  std::string weights(const Shape& shape, std::int64_t axis) {
    const std::string name = next("w");
    const Tensor floats = random_floats(shape, ++seed_, -127, 127);
    Tensor w(DType::int8, shape);
    for (std::size_t i = 0; i < static_cast<std::size_t>(w.size()); ++i) {
      w.mutable_values<std::int8_t>()[i] = static_cast<std::int8_t>(floats.values<float>()[i]);
    }
    const std::int64_t channels = shape[static_cast<std::size_t>(axis)];
    b_.initializer(name, w);
    b_.initializer(name + ".s", random_floats({channels}, ++seed_, 0.001F, 0.004F));
    b_.initializer(name + ".z", Tensor(DType::int8, {channels}));
    return b_.node("DequantizeLinear", {name, name + ".s", name + ".z"}, {{"axis", axis}});
  }
  std::string floats(const Shape& shape) {
    return b_.initializer(next("f"), random_floats(shape, ++seed_, -0.5F, 0.5F));
  }
  std::string next(const std::string& hint) { return hint + std::to_string(++count_); }

  ModelBuilder b_{"network"};

 private:
  DType dtype_;
  int count_ = 0;
  std::uint64_t seed_ = 0;
};

void save_network(const std::filesystem::path& file, DType activations) {
  Network n(activations);
  ModelBuilder& b = n.b_;
  const int middle = activations == DType::uint8 ? 128 : 0;
  const int lowest = activations == DType::uint8 ? 0 : -128;
  const std::string x = n.quantized(b.input("x", DType::float32, {"N", 3, 12, 12}), 0.02F, middle);
  const std::string stem =
      n.quantized(b.node("Relu", {b.node("Conv", {x, n.weights({8, 3, 3, 3}, 0), n.floats({8})},
                                         {{"pads", Int64s(4, 1)}, {"strides", Int64s(2, 2)}})}),
                  0.01F, lowest);
  const std::string depthwise =
      n.quantized(b.node("Clip", {b.node("Conv", {stem, n.weights({8, 1, 3, 3}, 0)},
                                         {{"pads", Int64s(4, 1)}, {"group", 8L}}),
                                  "zero", "six"}),
                  0.03F, lowest);
  const std::string point =
      n.quantized(b.node("Conv", {depthwise, n.weights({16, 8, 1, 1}, 0)}), 0.05F, middle);
  const std::string pooled = n.quantized(
      b.node("MaxPool", {point}, {{"kernel_shape", Int64s(2, 2)}, {"strides", Int64s(2, 2)}}),
      0.05F, middle);
  const std::string flat = n.quantized(b.node("Flatten", {pooled}), 0.05F, middle);
  const std::string hidden =
      n.quantized(b.node("Gemm", {flat, n.weights({20, 144}, 0), n.floats({20})}, {{"transB", 1L}}),
                  0.1F, middle);
  b.output(n.quantized(b.node("MatMul", {hidden, n.weights({20, 10}, 1)}), 0.1F, middle),
           DType::float32, {"N", 10});
  b.save(file);
}

std::vector<float> logits(const std::filesystem::path& file, const LoadOptions& options,
                          std::uint64_t seed) {
  const NamedValues results =
      Model::load(file, options).infer({{"x", random_floats({3, 3, 12, 12}, seed, -2.5F, 2.5F)}});
  const auto values = results[0].second.tensor().values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("quantized networks compute in integers, within one quantum") {
  if (!fusions_run()) return;
  const TemporaryFolder folder;
  const auto file = folder / "network.onnx";
  LoadOptions unfused;
  unfused.no_fusion = {Fusion::fuse_quantized};
  for (const DType activations : {DType::uint8, DType::int8}) {
    save_network(file, activations);
    const std::string text = Model::load(file).inspect("optimized");
    CHECK(count(text, "Int8Conv-") == 3);
    CHECK(count(text, "Int8MatMul-") == 2);
    CHECK(count(text, "= QuantizeLinear") == 1);
    CHECK(count(text, "= DequantizeLinear") == 1);
    CHECK(count(Model::load(file, unfused).inspect("optimized"), "Int8") == 0);
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const auto got = logits(file, {}, seed);
      const auto want = logits(file, unfused, seed);
      REQUIRE(got.size() == want.size());
      std::size_t different = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        CHECK(std::abs(got[i] - want[i]) < 0.1F * 1.01F);
        different += got[i] == want[i] ? 0 : 1;
      }
      CHECK(different <= got.size() / 10);
      CHECK(*std::max_element(want.begin(), want.end()) >
            *std::min_element(want.begin(), want.end()));
    }
  }
}

// A residual network: Add with Relu, and Concat of equal and of other scales.
void save_branches(const std::filesystem::path& file, DType activations) {
  Network n(activations);
  ModelBuilder& b = n.b_;
  const int middle = activations == DType::uint8 ? 128 : 0;
  const int lowest = activations == DType::uint8 ? 0 : -128;
  const std::string x = n.quantized(b.input("x", DType::float32, {"N", 3, 12, 12}), 0.02F, middle);
  const std::string stem =
      n.quantized(b.node("Conv", {x, n.weights({8, 3, 1, 1}, 0)}), 0.02F, middle);
  const std::string other = n.quantized(
      b.node("Conv", {stem, n.weights({8, 8, 3, 3}, 0)}, {{"pads", Int64s(4, 1)}}), 0.03F, middle);
  const std::string sum =
      n.quantized(b.node("Relu", {b.node("Add", {other, stem})}), 0.017F, lowest);
  const std::string capped =
      n.quantized(b.node("Clip", {b.node("Add", {sum, other}), "zero", "six"}), 0.02F, middle);
  const std::string joined =
      n.quantized(b.node("Concat", {capped, stem, sum}, {{"axis", 1L}}), 0.02F, middle);
  b.output(n.quantized(b.node("Conv", {joined, n.weights({10, 24, 12, 12}, 0)}), 0.1F, middle),
           DType::float32, {"N", 10, 1, 1});
  b.save(file);
}

TEST_CASE("sums and joined tensors of quantized networks stay integers, with the same bits") {
  if (!fusions_run()) return;
  const TemporaryFolder folder;
  const auto file = folder / "network.onnx";
  LoadOptions unfused;
  unfused.no_fusion = {Fusion::fuse_quantized};
  for (const DType activations : {DType::uint8, DType::int8}) {
    save_branches(file, activations);
    const std::string text = Model::load(file).inspect("optimized");
    CHECK(count(text, "Int8Conv-") == 3);
    CHECK(count(text, "Int8Add-") == 2);
    CHECK(count(text, "= Concat") == 1);
    CHECK(count(text, "= QuantizeLinear") == 1);
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const auto got = logits(file, {}, seed);
      const auto want = logits(file, unfused, seed);
      REQUIRE(got.size() == want.size());
      for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - want[i]) < 0.1F * 1.01F);
      CHECK(*std::max_element(want.begin(), want.end()) >
            *std::min_element(want.begin(), want.end()));
    }
  }
}

TEST_CASE("Concat of quantized tensors of other scales has the bits of its operators") {
  const TemporaryFolder folder;
  const auto file = folder / "network.onnx";
  for (const DType activations : {DType::uint8, DType::int8}) {
    Network n(activations);
    ModelBuilder& b = n.b_;
    const int middle = activations == DType::uint8 ? 128 : 0;
    const std::string x = b.input("x", DType::float32, {"N", 3, 12, 12});
    const std::string joined =
        b.node("Concat", {n.quantized(x, 0.02F, middle), n.quantized(x, 0.01F, middle + 3)},
               {{"axis", 1L}});
    b.output(n.quantized(joined, 0.015F, middle), DType::float32, {"N", 6, 12, 12});
    b.save(file);
    LoadOptions unfused;
    unfused.no_fusion = {Fusion::fuse_quantized};
    if (std::getenv("ONDINE_NO_FUSION") == nullptr) {
      CHECK(count(Model::load(file).inspect("optimized"), "Int8Lookup-") == 2);
    }
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      CHECK(logits(file, {}, seed) == logits(file, unfused, seed));
    }
  }
}

TEST_CASE("products of quantized tensors, by one number for each channel too, have the same bits") {
  const TemporaryFolder folder;
  const auto file = folder / "network.onnx";
  for (const DType activations : {DType::uint8, DType::int8}) {
    Network n(activations);
    ModelBuilder& b = n.b_;
    const int middle = activations == DType::uint8 ? 128 : 0;
    const std::string x = b.input("x", DType::float32, {"N", 3, 12, 12});
    const std::string features = n.quantized(x, 0.02F, middle);
    const std::string pooled = n.quantized(b.node("GlobalAveragePool", {features}), 0.02F, middle);
    const std::string scaled = n.quantized(b.node("Mul", {pooled, features}), 0.015F, middle);
    const std::string product =
        n.quantized(b.node("Relu", {b.node("Mul", {scaled, features})}), 0.015F, middle);
    const std::string shifted = b.node("Add", {product, pooled});
    b.output(n.quantized(shifted, 0.015F, middle), DType::float32, {"N", 3, 12, 12});
    b.save(file);
    LoadOptions unfused;
    unfused.no_fusion = {Fusion::fuse_quantized};
    if (std::getenv("ONDINE_NO_FUSION") == nullptr) {
      const std::string text = Model::load(file).inspect("optimized");
      CHECK(count(text, "Int8Mul-") == 2);
      CHECK(count(text, "Int8Add-") == 1);
    }
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      CHECK(logits(file, {}, seed) == logits(file, unfused, seed));
    }
  }
}

TEST_CASE("a quantized product that anything else reads keeps its operators") {
  const TemporaryFolder folder;
  const auto file = folder / "network.onnx";
  Network n(DType::uint8);
  ModelBuilder& b = n.b_;
  const std::string x = n.quantized(b.input("x", DType::float32, {"N", 6}), 0.02F, 128);
  const std::string y = b.node("MatMul", {x, n.weights({6, 4}, 1)});
  b.output(n.quantized(y, 0.1F, 128), DType::float32, {"N", 4});
  b.output(y, DType::float32, {"N", 4});
  b.save(file);
  CHECK(count(Model::load(file).inspect("optimized"), "Int8") == 0);
}

}  // namespace ondine::test
