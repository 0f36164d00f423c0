// Splitting a data set so that each class keeps its share.
#include <algorithm>
#include <cmath>
#include <map>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/data/column.h"

namespace ondine {
namespace {

using Rows = std::vector<std::uint64_t>;

// No epoch of a training run has this number, so the order of the split is one of its own.
constexpr std::uint64_t split_epoch = ~std::uint64_t{0};

// How many of each class go to the second part: rounded down, and what is missing to `total` goes
// to those with the largest remainders, the smaller label first.
std::map<std::int64_t, std::uint64_t> quotas(const std::map<std::int64_t, std::uint64_t>& counts,
                                             double fraction, std::uint64_t total) {
  std::map<std::int64_t, std::uint64_t> result;
  std::vector<std::pair<double, std::int64_t>> remainders;
  std::uint64_t given = 0;
  for (const auto& [label, count] : counts) {
    const double share = fraction * static_cast<double>(count);
    const auto whole = static_cast<std::uint64_t>(share);
    result[label] = whole;
    given += whole;
    remainders.emplace_back(share - static_cast<double>(whole), label);
  }
  std::stable_sort(remainders.begin(), remainders.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t i = 0; i < remainders.size() && given < total; ++i, ++given) {
    ++result[remainders[i].second];
  }
  return result;
}

// Marks the positions that go to the second part.
std::vector<bool> choose(const Dataset::Part& part, std::uint64_t size, double fraction,
                         std::uint64_t total, std::uint64_t seed) {
  const auto labels = part.labels();
  const auto label_of = [&](std::uint64_t position) {
    if (!labels) return std::int64_t{0};
    return (*labels)[part.stored(position)];
  };
  std::map<std::int64_t, std::uint64_t> counts;
  for (std::uint64_t i = 0; i < size; ++i) ++counts[label_of(i)];
  auto left = quotas(counts, fraction, total);
  std::vector<bool> chosen(size);
  for (const std::uint64_t position : shuffled(size, seed, split_epoch)) {
    std::uint64_t& quota = left[label_of(position)];
    if (quota == 0) continue;
    --quota;
    chosen[position] = true;
  }
  return chosen;
}

}  // namespace

std::pair<Dataset, Dataset> Dataset::split(double fraction, std::uint64_t seed) const {
  return guard_memory("split the data", [&] {
    const std::uint64_t size = rows();
    if (!(fraction > 0 && fraction < 1)) {
      fail(ErrorCode::mismatch, "a split needs a fraction between 0 and 1, found ", fraction);
    }
    const auto total = std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(std::llround(fraction * static_cast<double>(size))));
    if (total >= size) {
      fail(ErrorCode::mismatch, "a fraction of ", fraction, " of ", size,
           " rows leaves none for training");
    }
    const std::vector<bool> chosen = choose(*train_, size, fraction, total, seed);
    auto first = std::make_shared<Part>(*train_);
    auto second = std::make_shared<Part>(*train_);
    first->rows.emplace();
    second->rows.emplace();
    for (std::uint64_t i = 0; i < size; ++i) {
      (chosen[i] ? second : first)->rows->push_back(train_->stored(i));
    }
    Dataset training;
    training.train_ = std::move(first);
    Dataset validation;
    validation.train_ = std::move(second);
    return std::pair{std::move(training), std::move(validation)};
  });
}

}  // namespace ondine
