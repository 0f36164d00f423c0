#include "trainer/fit/score/decode_sequences.h"

#include "core/message.h"
#include "trainer/fit/score/metric_values.h"

namespace ondine::fit {
std::vector<std::uint64_t> lengths_of(const Tensor& tensor, std::int64_t rows, std::int64_t most) {
  const std::vector<double> values = metric_values(tensor);
  if (static_cast<std::int64_t>(values.size()) != rows) {
    fail(ErrorCode::mismatch, "there are ", values.size(), " lengths of ", rows, " sequences");
  }
  std::vector<std::uint64_t> lengths;
  for (const double value : values) {
    if (!(value >= 0 && value <= static_cast<double>(most))) {
      fail(ErrorCode::mismatch, "a sequence has length ", value, " of ", most);
    }
    lengths.push_back(static_cast<std::uint64_t>(value));
  }
  return lengths;
}

std::vector<Labels> cut_labels(const Tensor& labels, const Tensor& counts) {
  const Shape& shape = labels.shape();
  if (shape.rank() != 2) {
    fail(ErrorCode::mismatch, "sequences need labels [batch, labels], found ", shape);
  }
  const std::vector<double> values = metric_values(labels);
  const auto per_row = static_cast<std::size_t>(shape[1]);
  std::vector<Labels> result;
  for (const std::uint64_t count : lengths_of(counts, shape[0], shape[1])) {
    Labels row;
    for (std::uint64_t i = 0; i < count; ++i) {
      row.push_back(static_cast<std::int64_t>(values[result.size() * per_row + i]));
    }
    result.push_back(std::move(row));
  }
  return result;
}

}  // namespace ondine::fit
