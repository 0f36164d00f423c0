#include "trainer/fit/score/worst_errors.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "trainer/fit/score/metric_values.h"
#include "trainer/metrics/softmax.h"
#include "trainer/records/png.h"

namespace ondine::fit {
namespace {

constexpr std::size_t most_errors = 24;
constexpr std::int64_t largest_side = 1024;

struct ImageAxes {
  std::size_t channels = 0;
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t channel_step = 1;  // between the channels of a pixel
  std::size_t pixel_step = 1;    // between pixels of a row
};

// No channels where it is no batch of images.
ImageAxes image_axes(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  if (shape.rank() != 4) return {};
  const auto is_channels = [](std::int64_t dim) { return dim == 1 || dim == 3; };
  const bool is_first = is_channels(shape[1]);
  if (!is_first && !is_channels(shape[3])) return {};
  const std::int64_t height = shape[is_first ? 2 : 1];
  const std::int64_t width = shape[is_first ? 3 : 2];
  if (height < 2 || width < 2 || height > largest_side || width > largest_side) return {};
  ImageAxes axes;
  axes.channels = static_cast<std::size_t>(shape[is_first ? 1 : 3]);
  axes.height = static_cast<std::size_t>(height);
  axes.width = static_cast<std::size_t>(width);
  axes.channel_step = is_first ? axes.height * axes.width : 1;
  axes.pixel_step = is_first ? 1 : axes.channels;
  return axes;
}

std::vector<double> row_values(const Tensor& tensor, std::int64_t row) {
  const Shape& shape = tensor.shape();
  Tensor one(tensor.dtype(), {shape[1], shape[2], shape[3]});
  const std::size_t bytes = static_cast<std::size_t>(one.size()) * size_of(one.dtype());
  std::memcpy(one.mutable_data(),
              static_cast<const std::byte*>(tensor.data()) + static_cast<std::size_t>(row) * bytes,
              bytes);
  return metric_values(one);
}

std::string png_of(const ImageAxes& axes, const std::vector<double>& values, bool are_bytes) {
  double least = 0;
  double largest = 255;
  if (!are_bytes) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    least = *low;
    largest = *high;
  }
  const double range = largest - least;
  std::vector<std::uint8_t> pixels;
  for (std::size_t i = 0; i < axes.height * axes.width; ++i) {
    for (std::size_t c = 0; c < axes.channels; ++c) {
      const double value = values[i * axes.pixel_step + c * axes.channel_step];
      const double level = range > 0 ? (value - least) / range * 255 : 0;
      pixels.push_back(std::isfinite(level) ? static_cast<std::uint8_t>(std::lround(level)) : 0);
    }
  }
  return records::png_file(pixels, axes.width, axes.height, axes.channels);
}

}  // namespace

std::string picture_of(std::span<const NamedValue> feeds, std::int64_t row) {
  for (const auto& [name, value] : feeds) {
    if (!value.is_tensor()) continue;
    const Tensor& tensor = value.tensor();
    const bool is_number = tensor.dtype() == DType::float32 || tensor.dtype() == DType::uint8 ||
                           tensor.dtype() == DType::float64 || tensor.dtype() == DType::float16;
    const ImageAxes axes = image_axes(tensor);
    if (!is_number || axes.channels == 0) continue;
    return png_of(axes, row_values(tensor, row), tensor.dtype() == DType::uint8);
  }
  return {};
}

void WorstErrors::add(const metrics::Batch& batch, metrics::Task task, std::uint64_t rows,
                      std::span<const NamedValue> feeds) {
  const std::size_t positions = batch.positions.empty() ? batch.rows() : batch.all_positions;
  if (task == metrics::Task::classes && positions == rows) add_labels(batch, feeds);
  first_ += rows;
}

void WorstErrors::add_labels(const metrics::Batch& batch, std::span<const NamedValue> feeds) {
  std::vector<double> probabilities;
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    const std::size_t label = metrics::class_of(batch, i);
    const auto predicted = static_cast<std::size_t>(batch.prediction[i]);
    if (label == predicted) continue;
    const auto scores = batch.scores.subspan(i * batch.columns, batch.columns);
    probabilities.assign(scores.begin(), scores.end());
    if (!batch.probabilities) {
      probabilities.clear();
      metrics::append_softmax(scores, probabilities);
    }
    const std::size_t row = batch.positions.empty() ? i : batch.positions[i];
    const WrongPrediction wrong{first_ + row, label, predicted, probabilities[label],
                                probabilities[predicted]};
    const auto place = std::upper_bound(errors_.begin(), errors_.end(), wrong,
                                        [](const WrongPrediction& a, const WorstError& b) {
                                          return a.label_probability < b.what.label_probability;
                                        });
    if (place == errors_.end() && errors_.size() == most_errors) continue;
    errors_.insert(place, {wrong, picture_of(feeds, static_cast<std::int64_t>(row))});
    if (errors_.size() > most_errors) errors_.pop_back();
  }
}

}  // namespace ondine::fit
