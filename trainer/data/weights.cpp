#include "trainer/data/weights.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/message.h"
#include "trainer/data/table/targets.h"

namespace ondine::data {
namespace {

bool is_weight(double value) { return std::isfinite(value) && value >= 0; }

std::string names_of(const Dataset::Part& part) {
  std::string names;
  for (const auto& column : part.columns) {
    names += (names.empty() ? "" : ", ") + quoted(column->name());
  }
  return names;
}

void require_numbers(const Column& column, const Dataset::Part& part) {
  if (column.name() == part.target) {
    fail(ErrorCode::mismatch, "column ", quoted(column.name()),
         " is the target, it cannot hold the weights of rows (--weight-column)");
  }
  const PortInfo port = column.port();
  const bool is_number = is_float(port.dtype) || is_integer(port.dtype);
  const bool is_one = port.dims && std::all_of(port.dims->begin() + 1, port.dims->end(),
                                               [](std::int64_t dim) { return dim == 1; });
  if (is_number && is_one && !column.is_slow() && column.rows() == part.stored_rows()) return;
  fail(ErrorCode::mismatch, "column ", quoted(column.name()), " ", column.describe(),
       " holds no weight for each of the ", part.stored_rows(), " rows (--weight-column)");
}

std::vector<double> numbers_of(const Column& column) {
  std::vector<std::uint64_t> rows(static_cast<std::size_t>(column.rows()));
  std::iota(rows.begin(), rows.end(), std::uint64_t{0});
  std::vector<double> numbers(rows.size());
  const PortInfo port = column.port();
  const Dims dims(port.dims->begin() + 1, port.dims->end());
  column.copy(rows, {DType::float64, dims, false}, reinterpret_cast<std::byte*>(numbers.data()));
  const auto wrong = std::find_if_not(numbers.begin(), numbers.end(), is_weight);
  if (wrong == numbers.end()) return numbers;
  fail(ErrorCode::mismatch, "row ", wrong - numbers.begin(), " of column ", quoted(column.name()),
       ": ", *wrong, " is no weight, which is finite and not negative");
}

}  // namespace

void Weights::add(const std::string& text, std::uint64_t line) {
  const auto value = is_missing(text) ? std::nullopt : parse_number(text);
  if (value && is_weight(*value)) {
    values.push_back(*value);
    return;
  }
  fail(ErrorCode::corrupt, "line ", line, ", column ", quoted(column), ": ",
       is_missing(text) ? "the weight is missing"
                        : quoted(text) + " is no weight, which is finite and not negative");
}

void append(Weights& weights, const Weights& more) {
  weights.values.insert(weights.values.end(), more.values.begin(), more.values.end());
}

void add_column(Dataset::Part& part, const Weights& weights) {
  if (weights.column.empty()) return;
  const Shape shape{static_cast<std::int64_t>(weights.values.size())};
  part.columns.push_back(target_column(weights.column, Tensor::of(shape, weights.values)));
}

void set_weights(Dataset::Part& part, const DatasetOptions& options) {
  if (options.weights.empty() || options.use == DataUse::inference || part.columns.empty()) return;
  const auto found = std::find_if(part.columns.begin(), part.columns.end(),
                                  [&](const auto& one) { return one->name() == options.weights; });
  if (found == part.columns.end()) {
    if (options.weights_are_optional) return;
    fail(ErrorCode::not_found, "there is no column ", quoted(options.weights),
         " of weights (--weight-column); the data have: ", names_of(part));
  }
  require_numbers(**found, part);
  part.raw_weights = std::make_shared<const std::vector<double>>(numbers_of(**found));
  part.weights = options.weights;
  scale_weights(part);
}

void scale_weights(Dataset::Part& part) {
  if (part.weights.empty()) return;
  const std::vector<double>& raw = *part.raw_weights;
  const std::uint64_t rows = part.size();
  double sum = 0;
  for (std::uint64_t row = 0; row < rows; ++row) {
    sum += raw[static_cast<std::size_t>(part.stored(row))];
  }
  if (!(sum > 0) || !std::isfinite(sum)) {
    fail(ErrorCode::mismatch, "the weights of ", rows, " rows (column ", quoted(part.weights),
         sum > 0 ? ") are too large for their mean" : ") are all 0");
  }
  std::vector<double> scaled(raw.size());
  const double factor = static_cast<double>(rows) / sum;
  std::transform(raw.begin(), raw.end(), scaled.begin(), [&](double one) { return one * factor; });
  const Shape shape{static_cast<std::int64_t>(scaled.size())};
  for (auto& column : part.columns) {
    if (column->name() == part.weights) {
      column = target_column(part.weights, Tensor::of(shape, scaled));
    }
  }
}

}  // namespace ondine::data
