#include <algorithm>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/data/column.h"

namespace ondine {
namespace {

constexpr std::int64_t most_classes = std::int64_t{1} << 20;

}  // namespace

std::optional<std::vector<std::int64_t>> Dataset::Part::labels() const {
  std::optional<std::vector<std::int64_t>> result;
  for (const auto& column : columns) {
    if (column->rows() != stored_rows()) continue;
    auto labels = column->labels();
    if (!labels) continue;
    if (result) return {};
    result = std::move(labels);
  }
  return result;
}

std::vector<std::uint64_t> Dataset::class_counts() const {
  return guard_memory("count the classes", [&] {
    std::vector<std::uint64_t> counts;
    const auto labels = train_->labels();
    if (!labels || labels->empty()) return counts;
    const auto [least, largest] = std::minmax_element(labels->begin(), labels->end());
    if (*least < 0 || *largest > most_classes) return counts;
    counts.resize(std::max(static_cast<std::size_t>(*largest) + 1, classes().size()));
    const auto count = [&](std::int64_t label) { ++counts[static_cast<std::size_t>(label)]; };
    if (train_->rows) {
      for (const std::uint64_t row : *train_->rows) count((*labels)[row]);
    } else {
      std::for_each(labels->begin(), labels->end(), count);
    }
    return counts;
  });
}

std::vector<float> Dataset::balanced_class_weights() const {
  const std::vector<std::uint64_t> counts = class_counts();
  if (counts.empty()) {
    fail(ErrorCode::mismatch, "balanced class weights need data with one class for each row");
  }
  std::vector<float> weights;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) {
      const std::string name = i < classes().size() ? classes()[i] : std::to_string(i);
      fail(ErrorCode::mismatch, "class ", quoted(name), " has no rows in the training data");
    }
    weights.push_back(static_cast<float>(static_cast<double>(rows()) /
                                         static_cast<double>(counts.size() * counts[i])));
  }
  return weights;
}

}  // namespace ondine
