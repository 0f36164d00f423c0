#include "graph/training/quantize/blocks.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/random_tensor.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

const std::int8_t* elements(const QuantizedMatrix& matrix) {
  return static_cast<const std::int8_t*>(matrix.elements.data());
}

// What the integers mean, element (i, j).
double meaning(const QuantizedMatrix& m, std::size_t axis, std::int64_t block, std::int64_t i,
               std::int64_t j) {
  const std::int64_t row = axis == 0 ? i / block : i;
  const std::int64_t column = axis == 0 ? j : j / block;
  const auto scale =
      m.scale.values<float>()[static_cast<std::size_t>(row * m.scale.shape()[1] + column)];
  return double{scale} * elements(m)[i * m.elements.shape()[1] + j];
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
  CHECK(m.error < std::sqrt(plain / norm));
  CHECK(m.error == Approx(relative_error(x, m, 1, 64)));
  CHECK(*std::max_element(elements(m), elements(m) + 64) == 7);
  CHECK(*std::min_element(elements(m), elements(m) + 64) >= -8);
}

TEST_CASE("blocks of zeros and of numbers without a scale become zeros") {
  Tensor x(DType::float32, {2, 32});
  x.mutable_values<float>()[40] = 1e-44F;
  for (const DType dtype : {DType::int8, DType::int4}) {
    const QuantizedMatrix m = quantize_matrix(x, dtype, 1, 32);
    CHECK(std::all_of(elements(m), elements(m) + 64, [](int q) { return q == 0; }));
    for (const float scale : m.scale.values<float>()) CHECK(scale == 1);
  }
}
