#include "trainer/data/images/resize_image.h"

#include <algorithm>
#include <cmath>

#include "core/stop.h"

namespace ondine::data {
namespace {

constexpr std::int64_t channels = 3;

// Weights of the source positions first, first + 1, ... for one position of the result; their sum
// is 1.
struct Tap {
  std::int64_t first = 0;
  std::vector<float> weights;
};

// Result position i covers [start + i scale, start + (i + 1) scale) of `size` source positions.
std::vector<Tap> make_taps(std::int64_t size, std::int64_t result, double start, double scale,
                           bool antialias) {
  std::vector<Tap> taps(static_cast<std::size_t>(result));
  const double radius = antialias ? std::max(scale, 1.0) : 1.0;
  for (std::int64_t i = 0; i < result; ++i) {
    const double center = start + (static_cast<double>(i) + 0.5) * scale;
    const auto first =
        std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(center - radius)));
    const auto last = std::min(size, static_cast<std::int64_t>(std::ceil(center + radius)));
    std::vector<double> weights;
    double sum = 0;
    for (std::int64_t j = first; j < last; ++j) {
      weights.push_back(
          std::max(0.0, 1 - std::abs(static_cast<double>(j) + 0.5 - center) / radius));
      sum += weights.back();
    }
    Tap& tap = taps[static_cast<std::size_t>(i)];
    tap.first = first;
    for (const double weight : weights) tap.weights.push_back(static_cast<float>(weight / sum));
  }
  return taps;
}

struct Axes {
  std::vector<Tap> rows;
  std::vector<Tap> columns;
};

Axes make_axes(const Shape& image, const Resampling& to) {
  const ImageSize size = to.size;
  const auto height = static_cast<double>(image[0]);
  const auto width = static_cast<double>(image[1]);
  double by_row = height / static_cast<double>(size.height);
  double by_column = width / static_cast<double>(size.width);
  if (to.fit == ImageFit::crop) by_row = by_column = std::min(by_row, by_column);
  const double top = (height - by_row * static_cast<double>(size.height)) / 2;
  const double left = (width - by_column * static_cast<double>(size.width)) / 2;
  return {make_taps(image[0], size.height, top, by_row, to.antialias),
          make_taps(image[1], size.width, left, by_column, to.antialias)};
}

template <class T>
std::vector<float> resized(const T* pixels, const Shape& shape, const Resampling& to) {
  const Axes axes = make_axes(shape, to);
  const ImageSize size = to.size;
  const std::int64_t row_length = shape[1] * channels;
  std::vector<float> line(static_cast<std::size_t>(row_length));
  std::vector<float> result;
  result.reserve(static_cast<std::size_t>(size.height * size.width * channels));
  for (const Tap& row : axes.rows) {
    check_stop();
    std::fill(line.begin(), line.end(), 0.0F);
    for (std::size_t k = 0; k < row.weights.size(); ++k) {
      const T* from = pixels + (row.first + static_cast<std::int64_t>(k)) * row_length;
      for (std::size_t x = 0; x < line.size(); ++x) {
        line[x] += row.weights[k] * static_cast<float>(from[x]);
      }
    }
    for (const Tap& column : axes.columns) {
      for (std::int64_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (std::size_t k = 0; k < column.weights.size(); ++k) {
          const std::int64_t x = column.first + static_cast<std::int64_t>(k);
          sum += column.weights[k] * line[static_cast<std::size_t>(x * channels + c)];
        }
        result.push_back(sum);
      }
    }
  }
  return result;
}

}  // namespace

std::vector<float> resize_image(const Tensor& image, const Resampling& to) {
  if (image.dtype() == DType::uint16) {
    return resized(image.values<std::uint16_t>().data(), image.shape(), to);
  }
  return resized(image.values<std::uint8_t>().data(), image.shape(), to);
}

std::int64_t resize_bytes(const Tensor& image) {
  constexpr std::int64_t of_line = channels * sizeof(float);
  // Bytes of the taps: at least two weights for each position of the larger of source and result.
  constexpr std::int64_t of_taps = 4 * sizeof(double);
  return image.shape()[1] * (of_line + of_taps) + image.shape()[0] * of_taps;
}

}  // namespace ondine::data
