#include "graph/training/quantize/blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace ondine::graph {
namespace {

struct Levels {
  float lowest, highest;
};

float nearest_level(float x, float scale, Levels levels) {
  return std::clamp(std::nearbyint(x / scale), levels.lowest, levels.highest);
}

double squared_error(std::span<const float> block, float scale, Levels levels) {
  double sum = 0;
  for (const float x : block) {
    const double difference = double{x} - double{scale} * nearest_level(x, scale, levels);
    sum += difference * difference;
  }
  return sum;
}

float largest_magnitude(std::span<const float> block) {
  float largest = 0;
  for (const float x : block) largest = std::max(largest, std::abs(x));
  return largest;
}

// 1 for a block of zeros, and of numbers too small to be told from them.
float scale_of(std::span<const float> block, DType dtype, Levels levels) {
  const float whole = largest_magnitude(block) / levels.highest;
  if (!std::isnormal(whole)) return 1;
  if (dtype == DType::int8) return whole;
  // Cutting off the largest may pay with few levels.
  constexpr std::array factors{1.0F, 0.95F, 0.9F, 0.85F, 0.8F, 0.75F};
  float best = whole;
  double least = squared_error(block, whole, levels);
  for (const float factor : factors) {
    const double error = squared_error(block, whole * factor, levels);
    if (error >= least) continue;
    least = error;
    best = whole * factor;
  }
  return best;
}

}  // namespace

QuantizedMatrix quantize_matrix(const Tensor& matrix, DType dtype, std::size_t axis,
                                std::int64_t block) {
  const Levels levels = dtype == DType::int8 ? Levels{-127, 127} : Levels{-8, 7};
  const std::int64_t rows = matrix.shape()[0];
  const std::int64_t columns = matrix.shape()[1];
  const std::int64_t summed = axis == 0 ? rows : columns;
  const std::int64_t lines = axis == 0 ? columns : rows;
  const std::int64_t step = axis == 0 ? columns : 1;  // along the axis
  const std::int64_t blocks = (summed + block - 1) / block;
  QuantizedMatrix result;
  result.elements = Tensor(dtype, matrix.shape());
  result.scale = Tensor(DType::float32, axis == 0 ? Shape{blocks, columns} : Shape{rows, blocks});
  const auto from = matrix.values<float>();
  auto* to = static_cast<std::int8_t*>(result.elements.mutable_data());
  const auto scales = result.scale.mutable_values<float>();
  std::vector<float> values;
  double error = 0;
  double norm = 0;
  for (std::int64_t line = 0; line < lines; ++line) {
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::int64_t begin = (axis == 0 ? line : line * columns) + b * block * step;
      const std::int64_t count = std::min(block, summed - b * block);
      values.resize(static_cast<std::size_t>(count));
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = from[static_cast<std::size_t>(begin + static_cast<std::int64_t>(i) * step)];
        norm += double{values[i]} * values[i];
      }
      const float scale = scale_of(values, dtype, levels);
      scales[static_cast<std::size_t>(axis == 0 ? b * columns + line : line * blocks + b)] = scale;
      error += squared_error(values, scale, levels);
      for (std::size_t i = 0; i < values.size(); ++i) {
        to[begin + static_cast<std::int64_t>(i) * step] =
            static_cast<std::int8_t>(nearest_level(values[i], scale, levels));
      }
    }
  }
  result.error = norm == 0 ? 0 : std::sqrt(error / norm);
  return result;
}

}  // namespace ondine::graph
