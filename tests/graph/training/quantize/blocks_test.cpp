#include "graph/training/quantize/blocks.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "core/packed_elements.h"
#include "tests/support/random_tensor.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

const std::int8_t* elements(const QuantizedMatrix& matrix) {
  return static_cast<const std::int8_t*>(matrix.elements.data());
}

// Element (i, j) of the matrix that the integers stand for.
double meaning(const QuantizedMatrix& m, std::size_t axis, std::int64_t block, std::int64_t i,
               std::int64_t j) {
  const std::int64_t row = axis == 0 ? i / block : i;
  const std::int64_t column = axis == 0 ? j : j / block;
  const auto scale =
      m.scale.values<float>()[static_cast<std::size_t>(row * m.scale.shape()[1] + column)];
  return double{scale} * elements(m)[i * m.elements.shape()[1] + j];
}

// x such that a normal variable is below it with this probability, by bisection.
double normal_quantile(double probability) {
  double low = -10;
  double high = 10;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < probability ? low : high) = middle;
  }
  return low;
}

Tensor normal_floats(const Shape& shape, std::uint64_t seed) {
  Tensor x = random_floats(shape, seed, 0.0001F, 0.9999F);
  for (float& v : x.mutable_values<float>()) {
    v = static_cast<float>(normal_quantile(double{v}));
  }
  return x;
}

double relative_error(const Tensor& x, const QuantizedMatrix& m, std::size_t axis,
                      std::int64_t block) {
  double error = 0;
  double norm = 0;
  for (std::int64_t i = 0; i < x.shape()[0]; ++i) {
    for (std::int64_t j = 0; j < x.shape()[1]; ++j) {
      const double v = x.values<float>()[static_cast<std::size_t>(i * x.shape()[1] + j)];
      error += std::pow(v - meaning(m, axis, block, i, j), 2);
      norm += v * v;
    }
  }
  return std::sqrt(error / norm);
}

}  // namespace

TEST_CASE("every element of int8 blocks is within half a step, the last block being shorter") {
  const std::size_t axis = GENERATE(0, 1);
  const Tensor x = random_floats({70, 45}, 1, -3, 3);
  const QuantizedMatrix m = quantize_matrix(x, DType::int8, axis, 32);
  CHECK(m.elements.shape() == x.shape());
  CHECK(m.scale.shape() == (axis == 0 ? Shape{3, 45} : Shape{70, 2}));
  for (std::int64_t i = 0; i < 70; ++i) {
    for (std::int64_t j = 0; j < 45; ++j) {
      const double v = x.values<float>()[static_cast<std::size_t>(i * 45 + j)];
      CHECK(std::abs(v - meaning(m, axis, 32, i, j)) <= 3.0 / 127 / 2 * 1.0001);
    }
  }
  CHECK(m.error == Approx(relative_error(x, m, axis, 32)));
  // Integers of 8 bits cut nothing off: the scale is the largest magnitude / 127.
  for (std::int64_t line = 0; line < (axis == 0 ? 45 : 70); ++line) {
    float largest = 0;
    for (std::int64_t i = 0; i < 32; ++i) {
      const std::int64_t at = axis == 0 ? i * 45 + line : line * 45 + i;
      largest = std::max(largest, std::abs(x.values<float>()[static_cast<std::size_t>(at)]));
    }
    const std::int64_t first = axis == 0 ? line : line * 2;
    CHECK(m.scale.values<float>()[static_cast<std::size_t>(first)] == largest / 127);
  }
  const auto [low, high] = std::minmax_element(elements(m), elements(m) + x.size());
  CHECK(*low >= -127);
  CHECK(*high == 127);
}

TEST_CASE("int4 cuts off the largest elements where that lessens the error") {
  Tensor x = random_floats({1, 64}, 2, -1, 1);
  x.mutable_values<float>()[5] = 1.6F;
  const QuantizedMatrix m = quantize_matrix(x, DType::int4, 1, 64);
  double plain = 0;
  double norm = 0;
  for (const float v : x.values<float>()) {
    const double step = 1.6 / 7;
    plain += std::pow(v - step * std::nearbyint(v / step), 2);
    norm += double{v} * v;
  }
  CHECK(m.error < 0.99 * std::sqrt(plain / norm));
  const float scale = m.scale.values<float>()[0];
  CHECK(scale < 1.6F / 7 * 0.96F);
  CHECK(scale > 1.6F / 7 * 0.74F);
  CHECK(m.error == Approx(relative_error(x, m, 1, 64)));
  CHECK(*std::max_element(elements(m), elements(m) + 64) == 7);
  CHECK(*std::min_element(elements(m), elements(m) + 64) >= -8);
}

TEST_CASE("blocks of zeros and of numbers without a scale become zeros") {
  Tensor x(DType::float32, {2, 32});
  x.mutable_values<float>()[40] = 1e-44F;
  const QuantizedMatrix normal = quantize_matrix(x, FrozenFormat::nf4(), 1, 32);
  CHECK(std::all_of(elements(normal), elements(normal) + 64,
                    [](int q) { return normal_levels[static_cast<std::size_t>(q)] == 0; }));
  for (const DType dtype : {DType::int8, DType::int4}) {
    const QuantizedMatrix m = quantize_matrix(x, dtype, 1, 32);
    CHECK(std::all_of(elements(m), elements(m) + 64, [](int q) { return q == 0; }));
    for (const float scale : m.scale.values<float>()) CHECK(scale == 1);
  }
}

TEST_CASE("the levels of normal floats are quantiles of the normal distribution") {
  // At equal steps of probability between that of zero and the outermost of QLoRA: 8 above zero, 7
  // below it.
  constexpr double outermost = 0.9677083;
  std::vector<double> expected{0};
  for (const int count : {8, 7}) {
    for (int i = 0; i < count; ++i) {
      const double probability = outermost + (0.5 - outermost) * i / count;
      expected.push_back(normal_quantile(probability) * (count == 8 ? 1 : -1));
    }
  }
  std::sort(expected.begin(), expected.end());
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(double{normal_levels[i]} == Approx(expected[i] / expected[15]).margin(2e-6));
  }
}

TEST_CASE(
    "nf4 takes nearest levels, for less error on normal weights than int4 in smaller blocks") {
  const Tensor x = normal_floats({96, 300}, 3);
  for (const std::size_t axis : {std::size_t{0}, std::size_t{1}}) {
    const QuantizedMatrix m = quantize_matrix(x, FrozenFormat::nf4(), axis, 64);
    REQUIRE(m.elements.dtype() == DType::uint4);
    CHECK(m.scale.shape() == (axis == 0 ? Shape{2, 300} : Shape{96, 5}));
    double error = 0;
    double norm = 0;
    bool nearest = true;
    for (std::int64_t i = 0; i < 96; ++i) {
      for (std::int64_t j = 0; j < 300; ++j) {
        const auto at = axis == 0 ? i / 64 * 300 + j : i * 5 + j / 64;
        const double scale = double{m.scale.values<float>()[static_cast<std::size_t>(at)]};
        const double v = double{x.values<float>()[static_cast<std::size_t>(i * 300 + j)]};
        const auto element = static_cast<std::size_t>(elements(m)[i * 300 + j]);
        const double distance = std::abs(v - scale * double{normal_levels[element]});
        for (const float level : normal_levels) {
          nearest = nearest && distance <= std::abs(v - scale * double{level}) + 1e-12;
        }
        error += distance * distance;
        norm += v * v;
      }
    }
    CHECK(nearest);
    CHECK(m.error == Approx(std::sqrt(error / norm)));
    CHECK(m.error < 0.94 * quantize_matrix(x, DType::int4, axis, 64).error);
    CHECK(m.error < 1.02 * quantize_matrix(x, DType::int4, axis, 32).error);
  }
}

TEST_CASE("large matrices of 4 bits are held packed") {
  const Tensor x = normal_floats({300, 301}, 4);
  const QuantizedMatrix m = quantize_matrix(x, DType::int4, 0, 32);
  const auto packed = packed_elements(m.elements);
  REQUIRE(packed);
  CHECK(packed->bytes.size() == 300 * 301 / 2);
  CHECK(m.error == Approx(relative_error(x, m, 0, 32)));
}
