// Functions of one quantized tensor become tables that have the bits of their operators.
#include <ondine/build.h>
#include <ondine/model.h>

#include <catch2/catch.hpp>
#include <functional>

#include "tests/support/fusions_run.h"
#include "tests/support/random_tensor.h"

namespace ondine::test {
namespace {

using Wiring = std::function<std::string(ModelBuilder&, const std::string& x)>;

struct Quantizer {
  DType dtype = DType::uint8;
  Tensor scale = Tensor::scalar(0.02F);
  ModelBuilder::Attributes attributes = {};
};

Tensor zero_point(DType dtype, const Shape& shape) {
  Tensor zero(dtype, shape);
  for (std::int64_t i = 0; i < zero.size(); ++i) {
    static_cast<std::uint8_t*>(zero.mutable_data())[i] = dtype == DType::uint8 ? 100 : 250;
  }
  return zero;
}

std::string quantized(ModelBuilder& b, const std::string& x, const Quantizer& by = {}) {
  const std::string scale = b.initializer(x + ".scale", by.scale);
  const std::string zero = b.initializer(x + ".zero", zero_point(by.dtype, by.scale.shape()));
  const std::string q = b.node("QuantizeLinear", {x, scale, zero}, by.attributes);
  return b.node("DequantizeLinear", {q, scale, zero}, by.attributes);
}

// f(x) between two quantizers.
std::vector<std::byte> network(const Quantizer& before, const Quantizer& after, const Wiring& f) {
  ModelBuilder b("network", 24);
  const std::string x = b.input("x", DType::float32, {"N", 2, 150});
  const std::string y = f(b, quantized(b, x, before));
  b.output(quantized(b, y, after), DType::float32, {});
  return b.bytes();
}

std::size_t lookups(const Model& model) {
  const std::string text = model.inspect("optimized");
  std::size_t found = 0;
  for (auto at = text.find("Int8Lookup-"); at != std::string::npos;
       at = text.find("Int8Lookup-", at + 1)) {
    ++found;
  }
  return found;
}

void check_same_bits(const std::vector<std::byte>& bytes, std::size_t tables) {
  LoadOptions unfused;
  unfused.no_fusion = {Fusion::fuse_quantized};
  Model fused = Model::load(bytes);
  if (fusions_run()) CHECK(lookups(fused) == tables);
  const NamedValues x{{"x", random_floats({3, 2, 150}, 1, -3, 3)}};
  const Tensor got = fused.infer(x)[0].second.tensor();
  const Tensor want = Model::load(bytes, unfused).infer(x)[0].second.tensor();
  REQUIRE(got.shape() == want.shape());
  const auto values = got.values<float>();
  CHECK(std::equal(values.begin(), values.end(), want.values<float>().begin()));
  CHECK(*std::ranges::max_element(values) > *std::ranges::min_element(values));
}

std::string number(ModelBuilder& b, float value, const Shape& shape = {}) {
  Tensor tensor(DType::float32, shape);
  std::ranges::fill(tensor.mutable_values<float>(), value);
  return b.initializer("number" + std::to_string(value), tensor);
}

}  // namespace

TEST_CASE("a function of one quantized tensor is a table with the bits of its operators") {
  for (const char* op :
       {"Abs", "Atan", "Celu", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu",
        "Mish", "Neg", "Selu", "Sigmoid", "Sin", "Softplus", "Softsign", "Swish", "Tanh"}) {
    INFO(op);
    for (const DType dtype : {DType::uint8, DType::int8}) {
      const auto f = [&](ModelBuilder& b, const std::string& x) { return b.node(op, {x}); };
      check_same_bits(network({dtype}, {DType::int8, Tensor::scalar(0.013F)}, f), 1);
    }
  }
}

TEST_CASE("what is quantized on the way from a tensor to itself is part of its table") {
  // The sigmoid is quantized before the product, as quantizers of networks do.
  const auto swish = [](ModelBuilder& b, const std::string& x) {
    const std::string gate =
        quantized(b, b.node("Sigmoid", {x}), {DType::uint8, Tensor::scalar(1 / 256.0F)});
    return b.node("Mul", {x, gate});
  };
  check_same_bits(network({}, {}, swish), 1);
  const auto twice = [](ModelBuilder& b, const std::string& x) {
    const std::string shifted = b.node("Add", {x, number(b, 0.5F)});
    return b.node("Max", {b.node("Mul", {shifted, number(b, -1.5F, {1})}), x, number(b, 0.1F)});
  };
  check_same_bits(network({}, {}, twice), 1);
}

TEST_CASE("another scale alone is a table, and an axis that a single scale does not need is none") {
  const auto nothing = [](ModelBuilder&, const std::string& x) { return x; };
  check_same_bits(network({}, {DType::int8, Tensor::scalar(0.05F)}, nothing), 1);
  const Quantizer with_axis{DType::uint8, Tensor::scalar(0.02F), {{"axis", 2L}}};
  const auto tanh = [](ModelBuilder& b, const std::string& x) { return b.node("Tanh", {x}); };
  check_same_bits(network(with_axis, with_axis, tanh), 1);
}

TEST_CASE("functions of two tensors, of positions and with scales of channels are no tables") {
  const auto with_row = [](ModelBuilder& b, const std::string& x) {
    return b.node("Mul", {x, b.initializer("row", random_floats({150}, 2))});
  };
  check_same_bits(network({}, {}, with_row), 0);
  const auto with_rank = [](ModelBuilder& b, const std::string& x) {
    return b.node("Mul", {x, number(b, 2, {1, 1, 1, 1})});
  };
  check_same_bits(network({}, {}, with_rank), 0);
  const auto with_other = [](ModelBuilder& b, const std::string& x) {
    return b.node("Mul", {x, quantized(b, b.node("Neg", {"x"}))});
  };
  check_same_bits(network({}, {}, with_other), 0);
  const auto tanh = [](ModelBuilder& b, const std::string& x) { return b.node("Tanh", {x}); };
  const Quantizer channels{DType::uint8, Tensor::of<float>({2}, {0.02F, 0.03F}), {{"axis", 1L}}};
  check_same_bits(network(channels, {}, tanh), 0);
  check_same_bits(network({}, channels, tanh), 0);
}

TEST_CASE("a function that something else reads too is a table beside its operators") {
  ModelBuilder b("network", 21);
  const std::string x = quantized(b, b.input("x", DType::float32, {"N", 2, 150}));
  const std::string y = b.node("Tanh", {x}, {}, "y");
  b.output(quantized(b, y), DType::float32, {});
  b.output(y, DType::float32, {});
  check_same_bits(b.bytes(), 1);
}

}  // namespace ondine::test
