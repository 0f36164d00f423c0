#include "graph/training/adapters/products.h"

#include <algorithm>
#include <cmath>

#include "core/stop.h"
#include "core/to_doubles.h"

namespace ondine::graph {
namespace {

std::size_t dim(const Shape& shape, std::size_t axis) {
  return static_cast<std::size_t>(shape[axis]);
}

std::size_t elements_of_row(const Shape& shape) {
  const auto rows = dim(shape, 0);
  return rows == 0 ? 0 : static_cast<std::size_t>(shape.size()) / rows;
}

}  // namespace

bool fit(const Adapter& adapter, const Shape& weight, const Shape& a, const Shape& b) {
  if (adapter.form == LayerForm::convolution) {
    if (weight.rank() < 3 || a.rank() != weight.rank() || b.rank() != weight.rank()) return false;
    for (std::size_t i = 1; i < weight.rank(); ++i) {
      if (a[i] != weight[i] || b[i] != (i == 1 ? a[0] : 1)) return false;
    }
    return b[0] == weight[0];
  }
  const std::size_t in = adapter.transposed ? 1 : 0;
  return a.rank() == 2 && b.rank() == 2 && weight.rank() == 2 && a[1] == b[0] &&
         weight[in] == a[0] && weight[1 - in] == b[1];
}

std::vector<double> low_rank_product(const Adapter& adapter, const Tensor& a, const Tensor& b) {
  const bool is_convolution = adapter.form == LayerForm::convolution;
  const std::size_t rank = is_convolution ? dim(a.shape(), 0) : dim(a.shape(), 1);
  const std::size_t in = is_convolution ? elements_of_row(a.shape()) : dim(a.shape(), 0);
  const std::size_t out = is_convolution ? dim(b.shape(), 0) : dim(b.shape(), 1);
  const std::vector<double> left = *to_doubles(a);
  const std::vector<double> right = *to_doubles(b);
  std::vector<double> result(in * out);
  for (std::size_t i = 0; i < in; ++i) {
    checkpoint(static_cast<std::int64_t>(rank * out));
    for (std::size_t j = 0; j < out; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < rank; ++k) {
        sum += is_convolution ? left[k * in + i] * right[j * rank + k]
                              : left[i * rank + k] * right[k * out + j];
      }
      result[adapter.transposed ? j * in + i : i * out + j] = adapter.merged_scale * sum;
    }
  }
  return result;
}

std::optional<std::vector<double>> channel_parts(const Adapter& adapter, const Shape& weight,
                                                 std::span<const std::int64_t> channels,
                                                 const Tensor& added) {
  const bool is_convolution = adapter.form == LayerForm::convolution;
  if (adapter.form == LayerForm::embedding || weight.rank() < (is_convolution ? 3U : 2U) ||
      (!is_convolution && weight.rank() != 2) || weight.size() == 0) {
    return {};
  }
  const std::size_t axis = adapter.transposed ? 1 : 0;
  const auto count = static_cast<std::int64_t>(channels.size());
  std::vector<std::int64_t> wanted(weight.begin(), weight.end());
  if (is_convolution) {
    wanted[1] = count;
  } else {
    wanted = {count, weight[1 - axis]};
  }
  const bool are_there = std::ranges::all_of(
      channels, [&](std::int64_t one) { return one >= 0 && one < weight[axis]; });
  if (!are_there || added.shape() != Shape(wanted)) return {};
  const std::vector<double> parts = *to_doubles(added);
  std::vector<double> result(static_cast<std::size_t>(weight.size()));
  const std::size_t window = is_convolution ? elements_of_row(weight) / dim(weight, 1) : 1;
  const std::size_t outputs = dim(weight, 1 - axis);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    // Weights of a convolution are [out, channels, window], others [channels, out].
    const std::size_t place = is_convolution ? i / window % channels.size() : i / outputs;
    const std::size_t output = is_convolution ? i / window / channels.size() : i % outputs;
    const auto channel = static_cast<std::size_t>(channels[place]);
    const std::size_t at =
        adapter.transposed ? output * dim(weight, 1) + channel : channel * outputs + output;
    result[at * window + i % window] += adapter.merged_scale * parts[i];
  }
  return result;
}

std::size_t output_of(std::size_t i, const Shape& shape, bool transposed) {
  const std::size_t row = elements_of_row(shape);
  return transposed ? i / row : i % row;
}

std::size_t channel_of(std::size_t i, const Shape& shape, bool transposed) {
  const std::size_t row = elements_of_row(shape);
  if (!transposed) return i / row;
  return i % row / (row / dim(shape, 1));
}

std::vector<double> output_lengths(const std::vector<double>& weight, const Shape& shape,
                                   bool transposed) {
  std::vector<double> sums(transposed ? dim(shape, 0) : elements_of_row(shape));
  for (std::size_t i = 0; i < weight.size(); ++i) {
    sums[output_of(i, shape, transposed)] += weight[i] * weight[i];
  }
  for (double& one : sums) one = std::sqrt(one);
  return sums;
}

}  // namespace ondine::graph
