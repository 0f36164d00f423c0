// Biases that train alone, BitFit.
#include <algorithm>
#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/trainer/adapters/kinds.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

std::vector<std::string> trained_of(const std::vector<std::byte>& network,
                                    const PrepareOptions& options) {
  PrepareReport report;
  prepare(network, options, {}, &report);
  std::sort(report.trained.begin(), report.trained.end());
  return report.trained;
}

}  // namespace

TEST_CASE("biases of products, convolutions and terms after products train alone") {
  PrepareOptions options;
  options.only_biases = true;
  using Names = std::vector<std::string>;
  CHECK(trained_of(three_layers(), options) == Names{"body.fc2.bias", "head.bias"});
  CHECK(trained_of(image_network(), options) == Names{"conv1.bias", "conv3.bias", "head.bias"});
  CHECK(trained_of(text_network(), options) == Names{"head.bias", "key.bias"});
  options.freeze = {"head.*"};
  CHECK(trained_of(text_network(), options) == Names{"key.bias"});
  options.train = {"words.weight"};
  CHECK(trained_of(text_network(), options) == Names{"key.bias", "words.weight"});
  check_gradients(text_network(), options, texts());
}

TEST_CASE("biases are found by what operators do with them, not by their names") {
  ModelBuilder b("names", 17);
  std::string x = b.input("x", DType::float32, {"N", 4});
  x = b.node("Gemm", {x, b.initializer("t1", random_floats({4, 6}, 1)),
                      b.initializer("t2", random_floats({6}, 2))});
  x = b.node("LayerNormalization", {x, b.initializer("t3", random_floats({6}, 3, 0.5F, 2)),
                                    b.initializer("t4", random_floats({6}, 4))});
  x = b.node("MatMul", {b.node("Tanh", {x}), b.initializer("t5", random_floats({6, 4}, 5))});
  b.output(x, DType::float32, {"N", 4});
  PrepareOptions options;
  options.only_biases = true;
  CHECK(trained_of(b.bytes(), options) == std::vector<std::string>{"t2", "t4"});
}

TEST_CASE("a new head trains besides biases, and a network without biases is refused") {
  PrepareOptions options;
  options.only_biases = true;
  options.head = NewHead{.classes = 3};
  CHECK(trained_of(three_layers(), options) ==
        std::vector<std::string>{"body.fc2.bias", "head.bias", "head.weight"});
  ModelBuilder b("none", 17);
  std::string x = b.input("x", DType::float32, {"N", 4});
  x = b.node("MatMul", {x, b.initializer("w", random_floats({4, 4}, 5))});
  b.output(x, DType::float32, {"N", 4});
  options.head.reset();
  CHECK_THROWS_WITH(prepare(b.bytes(), options), Contains("nothing to train"));
  options.lora = Lora{};
  CHECK_THROWS_WITH(prepare(b.bytes(), options), Contains("lora excludes only_biases"));
}
