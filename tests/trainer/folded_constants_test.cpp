// Normalizations that go into the convolutions before them, compared with what is computed by hand.
#include <cmath>
#include <cstdlib>
#include <utility>

#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/model.h>

namespace ondine::test {
namespace {

constexpr float variance = 0.01F;

// Two normalizations of the same pointwise convolution's weights by the same statistics, with
// different epsilon.
std::vector<std::byte> two_epsilons(float first, float second) {
  ModelBuilder b("network");
  const std::string w = b.initializer("w", Tensor::of<float>({1, 1, 1, 1}, {3}));
  const std::string scale = b.initializer("scale", Tensor::of<float>({1}, {0.5F}));
  const std::string bias = b.initializer("bias", Tensor::of<float>({1}, {0.25F}));
  const std::string mean = b.initializer("mean", Tensor::of<float>({1}, {1}));
  const std::string var = b.initializer("var", Tensor::of<float>({1}, {variance}));
  // Inputs of their own, so that the convolutions are not merged.
  for (const auto& [name, epsilon] : {std::pair{"first", first}, std::pair{"second", second}}) {
    const std::string x = b.input(name, DType::float32, {1, 1, 1, 2});
    const std::string normal =
        b.node("BatchNormalization", {b.node("Conv", {x, w}), scale, bias, mean, var},
               {{"epsilon", epsilon}});
    b.output(normal, DType::float32, {1, 1, 1, 2});
  }
  return b.bytes();
}

float expected(float x, float epsilon) {
  const double deviation = std::sqrt(double{variance} + double{epsilon});
  return static_cast<float>((3.0 * double{x} - 1) / deviation * 0.5 + 0.25);
}

}  // namespace

TEST_CASE("normalizations that differ in epsilon alone are folded each by its own") {
  const Tensor x = Tensor::of<float>({1, 1, 1, 2}, {2, -0.5F});
  const NamedValues feeds{{"first", x}, {"second", x}};
  const float first = 1e-5F;
  const float second = 0.5F;
  const Model model = Model::load(two_epsilons(first, second));
  if (std::getenv("ONDINE_NO_FUSION") == nullptr) {
    REQUIRE(model.inspect("optimized").find("= BatchNormalization") == std::string::npos);
  }
  const auto results = model.infer(feeds);
  std::size_t i = 0;
  for (const float epsilon : {first, second}) {
    const Tensor& tensor = results[i++].second.tensor();
    const auto values = tensor.values<float>();
    CHECK(values[0] == Approx(expected(2, epsilon)).epsilon(1e-5));
    CHECK(values[1] == Approx(expected(-0.5F, epsilon)).epsilon(1e-5));
  }
}

}  // namespace ondine::test
