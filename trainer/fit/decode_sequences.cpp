#include "trainer/fit/decode_sequences.h"

#include <algorithm>

#include "core/message.h"
#include "trainer/fit/metric_values.h"

namespace ondine::fit {
namespace {

// One for each row, none above `most`.
std::vector<std::size_t> lengths_of(const Tensor& tensor, std::int64_t rows, std::int64_t most) {
  const std::vector<double> values = metric_values(tensor);
  if (static_cast<std::int64_t>(values.size()) != rows) {
    fail(ErrorCode::mismatch, "there are ", values.size(), " lengths of ", rows, " sequences");
  }
  std::vector<std::size_t> lengths;
  for (const double value : values) {
    if (!(value >= 0 && value <= static_cast<double>(most))) {
      fail(ErrorCode::mismatch, "a sequence has length ", value, " of ", most);
    }
    lengths.push_back(static_cast<std::size_t>(value));
  }
  return lengths;
}

}  // namespace

std::vector<Labels> best_paths(const Tensor& scores, const Tensor& steps, std::int64_t blank) {
  const Shape& shape = scores.shape();
  if (shape.rank() != 3 || shape[2] == 0) {
    fail(ErrorCode::mismatch, "sequences need scores [batch, steps, classes], found ", shape);
  }
  const std::vector<double> values = metric_values(scores);
  const auto classes = static_cast<std::size_t>(shape[2]);
  const auto per_row = static_cast<std::size_t>(shape[1]) * classes;
  std::vector<Labels> paths;
  for (const std::size_t length : lengths_of(steps, shape[0], shape[1])) {
    Labels path;
    std::int64_t last = blank;
    for (std::size_t step = 0; step < length; ++step) {
      const auto first =
          values.begin() + static_cast<std::ptrdiff_t>(paths.size() * per_row + step * classes);
      const std::int64_t best =
          std::max_element(first, first + static_cast<std::ptrdiff_t>(classes)) - first;
      if (best != last && best != blank) path.push_back(best);
      last = best;
    }
    paths.push_back(std::move(path));
  }
  return paths;
}

std::vector<Labels> cut_labels(const Tensor& labels, const Tensor& counts) {
  const Shape& shape = labels.shape();
  if (shape.rank() != 2) {
    fail(ErrorCode::mismatch, "sequences need labels [batch, labels], found ", shape);
  }
  const std::vector<double> values = metric_values(labels);
  const auto per_row = static_cast<std::size_t>(shape[1]);
  std::vector<Labels> result;
  for (const std::size_t count : lengths_of(counts, shape[0], shape[1])) {
    Labels row;
    for (std::size_t i = 0; i < count; ++i) {
      row.push_back(static_cast<std::int64_t>(values[result.size() * per_row + i]));
    }
    result.push_back(std::move(row));
  }
  return result;
}

}  // namespace ondine::fit
