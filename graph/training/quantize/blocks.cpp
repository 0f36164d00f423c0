#include "graph/training/quantize/blocks.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "core/packed_elements.h"

namespace ondine::graph {

const std::array<float, 16> normal_levels{-1.0F,
                                          -0.6961928009986877F,
                                          -0.5250730514526367F,
                                          -0.39491748809814453F,
                                          -0.28444138169288635F,
                                          -0.18477343022823334F,
                                          -0.09105003625154495F,
                                          0.0F,
                                          0.07958029955625534F,
                                          0.16093020141124725F,
                                          0.24611230194568634F,
                                          0.33791524171829224F,
                                          0.44070982933044434F,
                                          0.5626170039176941F,
                                          0.7229568362236023F,
                                          1.0F};

namespace {

// Range of elements, in units of the scale.
struct Levels {
  float lowest, highest;
  std::span<const float> numbers = {};  // ascending, where elements are their indices

  explicit Levels(const FrozenFormat& format)
      : lowest(format.dtype() == DType::int8 ? -127 : -8),
        highest(format.dtype() == DType::int8 ? 127 : 7) {
    if (!format.is_nf4()) return;
    numbers = normal_levels;
    lowest = -1;
    highest = 1;
  }

  int nearest(float x, float scale) const {
    if (numbers.empty()) {
      return static_cast<int>(std::clamp(std::nearbyint(x / scale), lowest, highest));
    }
    const double y = double{x} / double{scale};
    const auto above = std::lower_bound(numbers.begin(), numbers.end(), y);
    if (above == numbers.begin()) return 0;
    if (above == numbers.end()) return static_cast<int>(numbers.size()) - 1;
    const bool down = y - double{above[-1]} <= double{*above} - y;
    return static_cast<int>(above - numbers.begin()) - (down ? 1 : 0);
  }

  double number(int element) const {
    return numbers.empty() ? element : double{numbers[static_cast<std::size_t>(element)]};
  }
};

double squared_error(std::span<const float> block, float scale, const Levels& levels) {
  double sum = 0;
  for (const float x : block) {
    const double difference = double{x} - double{scale} * levels.number(levels.nearest(x, scale));
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
float scale_of(std::span<const float> block, const FrozenFormat& format, const Levels& levels) {
  const float whole = largest_magnitude(block) / levels.highest;
  if (!std::isnormal(whole)) return 1;
  if (format.dtype() == DType::int8) return whole;
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

Tensor packed(const Tensor& elements) {
  const DType dtype = elements.dtype();
  if (!is_packed(dtype)) return elements;
  const auto bytes = std::make_shared<std::vector<std::byte>>(packed_size(dtype, elements.size()));
  pack(dtype, {static_cast<const std::byte*>(elements.data()), elements.bytes()}, *bytes);
  return share_packed(dtype, elements.shape(), {*bytes, bytes});
}

}  // namespace

QuantizedMatrix quantize_matrix(const Tensor& matrix, const FrozenFormat& format, std::size_t axis,
                                std::int64_t block) {
  const Levels levels(format);
  const std::int64_t rows = matrix.shape()[0];
  const std::int64_t columns = matrix.shape()[1];
  const std::int64_t summed = axis == 0 ? rows : columns;
  const std::int64_t lines = axis == 0 ? columns : rows;
  const std::int64_t step = axis == 0 ? columns : 1;  // along the axis
  const std::int64_t blocks = (summed + block - 1) / block;
  QuantizedMatrix result;
  Tensor elements(format.dtype(), matrix.shape());
  result.scale = Tensor(DType::float32, axis == 0 ? Shape{blocks, columns} : Shape{rows, blocks});
  const auto from = matrix.values<float>();
  auto* to = static_cast<std::int8_t*>(elements.mutable_data());
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
      const float scale = scale_of(values, format, levels);
      scales[static_cast<std::size_t>(axis == 0 ? b * columns + line : line * blocks + b)] = scale;
      error += squared_error(values, scale, levels);
      for (std::size_t i = 0; i < values.size(); ++i) {
        to[begin + static_cast<std::int64_t>(i) * step] =
            static_cast<std::int8_t>(levels.nearest(values[i], scale));
      }
    }
  }
  result.error = norm == 0 ? 0 : std::sqrt(error / norm);
  result.elements = packed(elements);
  return result;
}

}  // namespace ondine::graph
