// Low-rank adapters with lengths of their own (DoRA) and from singular values (PiSSA).
#include <catch2/catch.hpp>

#include <ondine/adapters.h>
#include <ondine/error.h>

#include "tests/trainer/adapters/kinds.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

PrepareOptions with_lengths(std::vector<std::string> targets) {
  Lora lora{.rank = 2, .alpha = 6, .targets = std::move(targets)};
  lora.dora = true;
  return with_adapters(std::move(lora));
}

PrepareOptions from_values(std::int64_t rank) {
  Lora lora{.rank = rank, .alpha = 6};
  lora.init = LoraInit::pissa;
  return with_adapters(std::move(lora));
}

double at(const Tensor& tensor, std::size_t row, std::size_t col) {
  const auto width = static_cast<std::size_t>(tensor.shape()[1]);
  return static_cast<double>(tensor.values<float>()[row * width + col]);
}

}  // namespace

TEST_CASE("adapters with lengths train lengths and directions of every form of layer") {
  check_kind(three_layers(), with_lengths({}), sequences());
  check_kind(image_network(), with_lengths({"conv*", "head"}), images());
  check_kind(text_network(), with_lengths({"words", "key", "head"}), texts());
}

TEST_CASE("lengths are those of the weights at first") {
  const Model model = prepare(three_layers(), with_lengths({}));
  const Tensor w = random_floats({10, 36}, 2, -0.5F, 0.5F);
  const Tensor lengths = model.get_state("body.fc2.lora_magnitude");
  REQUIRE(lengths.shape() == Shape{10});
  for (std::size_t j = 0; j < 10; ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < 36; ++i) sum += at(w, j, i) * at(w, j, i);
    CHECK(lengths.values<float>()[j] == Approx(std::sqrt(sum)));
  }
}

// One step by plain descent, with the length |w + scale a b| written as a constant.
TEST_CASE("the length of the sum counts as a constant in derivatives") {
  const Tensor w = random_floats({8, 5}, 1);
  const Tensor head = random_floats({5, 4}, 2);
  const Tensor bias = random_floats({5}, 3);
  const Tensor a = random_floats({8, 2}, 4);
  const Tensor c = random_floats({2, 5}, 5);
  const Tensor m = random_floats({5}, 6, 1, 3);
  Tensor lengths(DType::float32, {5});
  for (std::size_t j = 0; j < 5; ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      const double one = at(w, i, j) + 3 * (at(a, i, 0) * at(c, 0, j) + at(a, i, 1) * at(c, 1, j));
      sum += one * one;
    }
    lengths.mutable_values<float>()[j] = static_cast<float>(std::sqrt(sum));
  }
  ModelBuilder plain("plain", 17);
  const std::string x = plain.input("x", DType::float32, {"N", 8});
  std::string y = plain.node(
      "Gemm", {x, plain.initializer("fc.weight", w), plain.initializer("fc.bias", bias)});
  y = plain.node("MatMul", {plain.node("Tanh", {y}), plain.initializer("head", head)});
  plain.output(y, DType::float32, {"N", 4});
  PrepareOptions options = with_lengths({"fc"});
  options.optimizer = Sgd{.learning_rate = 0.1F};
  Model model = prepare(plain.bytes(), options);
  model.set_state(NamedValues{{"fc.lora_A", a}, {"fc.lora_B", c}, {"fc.lora_magnitude", m}});

  ModelBuilder whole("whole", 17);
  whole.input("x", DType::float32, {"N", 8});
  const auto constant = [&](const char* name, const Tensor& value) {
    return whole.initializer(name, value);
  };
  const std::string inner = whole.node("MatMul", {"x", constant("a", a)});
  const std::string outer = whole.node("MatMul", {inner, constant("b", c)});
  std::string scale_name = constant("scale", random_floats({1}, 1, 3, 3));
  std::string sum = whole.node("Add", {whole.node("MatMul", {"x", constant("w", w)}),
                                       whole.node("Mul", {outer, scale_name})});
  sum = whole.node("Mul", {sum, whole.node("Div", {constant("m", m), constant("n", lengths)})});
  sum = whole.node("Add", {sum, constant("bias", bias)});
  sum = whole.node("MatMul", {whole.node("Tanh", {sum}), constant("head", head)});
  whole.output(sum, DType::float32, {"N", 4});
  PrepareOptions same;
  same.optimizer = Sgd{.learning_rate = 0.1F};
  same.train = {"a", "b", "m"};
  same.init = WeightInit::keep;
  Model other = prepare(whole.bytes(), same);
  const NamedValues feeds{{"x", random_floats({6, 8}, 9)}, batch_of_six()[1]};
  CHECK(distance(first_output(model, feeds), first_output(other, feeds)) < 1e-5);
  model.train_step(feeds);
  other.train_step(feeds);
  for (const auto& [one, name] : {std::pair("fc.lora_A", "a"), std::pair("fc.lora_B", "b"),
                                  std::pair("fc.lora_magnitude", "m")}) {
    const Tensor found = model.get_state(one);
    const Tensor wanted = other.get_state(name);
    for (std::size_t i = 0; i < static_cast<std::size_t>(found.size()); ++i) {
      CHECK(found.values<float>()[i] == Approx(wanted.values<float>()[i]).margin(1e-5));
    }
  }
  check_gradients(whole.bytes(), same, feeds);
}

TEST_CASE("adapters from singular values start with the largest, and weights with the rest") {
  const Model model = check_kind(three_layers(), from_values(3), sequences());
  check_gradients(three_layers(), from_values(3), sequences());
  // Adapters of full rank leave nothing of the weight.
  const Model whole = prepare(three_layers(), from_values(8));
  const Tensor a = whole.get_state("body.fc1.lora_A");
  const Tensor b = whole.get_state("body.fc1.lora_B");
  const Tensor w = random_floats({8, 12}, 1, -0.5F, 0.5F);
  double most = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 12; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 8; ++k) sum += 6.0 / 8 * at(a, i, k) * at(b, k, j);
      most = std::max(most, std::abs(sum - at(w, i, j)));
    }
  }
  CHECK(most < 1e-6);
  // Columns of a are orthogonal, and ordered by length.
  double before = 1e9;
  for (std::size_t k = 0; k < 8; ++k) {
    double length = 0;
    double product = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      length += at(a, i, k) * at(a, i, k);
      if (k > 0) product += at(a, i, k) * at(a, i, k - 1);
    }
    CHECK(length < before);
    CHECK(std::abs(product) < 1e-5);
    before = length;
  }
}

TEST_CASE("lengths and singular values go together") {
  PrepareOptions options = from_values(2);
  options.lora->dora = true;
  check_kind(three_layers(), options, sequences());
}

TEST_CASE("weights are quantized without the part that singular values took") {
  PrepareOptions options = from_values(4);
  options.quantize_frozen = FrozenFormat(DType::int8);
  ModelBuilder b("network", 21);
  std::string x = b.input("x", DType::float32, {"N", 64});
  x = b.node("MatMul", {x, b.initializer("fc.weight", random_floats({64, 64}, 1, -0.2F, 0.2F))});
  x = b.node("MatMul", {b.node("Tanh", {x}), b.initializer("head", random_floats({64, 4}, 2))});
  b.output(x, DType::float32, {"N", 4});
  const Model model = prepare(b.bytes(), options);
  const NamedValues feeds{{"x", random_floats({6, 64}, 3)}, batch_of_six()[1]};
  const std::vector<float> exact = first_output(Model::load(b.bytes()), feeds);
  CHECK(distance(exact, first_output(model, feeds)) > 0);
  CHECK(distance(exact, first_output(model, feeds)) < 0.1);
}

TEST_CASE("what has no length or no singular values is refused") {
  const auto refusal = [](const std::vector<std::byte>& network, const PrepareOptions& options) {
    try {
      prepare(network, options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  PrepareOptions options = with_lengths({});
  options.quantize_frozen = FrozenFormat(DType::int8);
  CHECK_THAT(refusal(three_layers(), options), Contains("exclude quantize_frozen"));
  CHECK_THAT(refusal(three_layers(), from_values(9)),
             Contains("'body.fc1' has 8 singular values") && Contains("here 9"));
  options = from_values(2);
  options.lora->targets = {"conv1"};
  CHECK_THAT(refusal(image_network(), options), Contains("(PiSSA) need linear layers"));
  ModelBuilder b("zeros", 17);
  const std::string x = b.input("x", DType::float32, {"N", 3});
  Tensor w = random_floats({3, 2}, 1);
  for (const std::size_t i : {1, 3, 5}) w.mutable_values<float>()[i] = 0;
  b.output(b.node("MatMul", {x, b.initializer("fc", w)}), DType::float32, {"N", 2});
  CHECK_THAT(refusal(b.bytes(), with_lengths({"fc"})),
             Contains("output 1 of the layer 'fc' has a weight of zeros"));
}
