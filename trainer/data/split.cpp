// Splitting a data set so that each class keeps its share.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/data/column.h"
#include "trainer/data/weights.h"

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

// The label of each position; 0 for all where no column has them.
std::function<std::int64_t(std::uint64_t)> labels_of(const Dataset::Part& part) {
  auto labels = part.labels();
  if (!labels) return [](std::uint64_t) { return std::int64_t{0}; };
  return [&part, labels = std::move(*labels)](std::uint64_t position) {
    return labels[part.stored(position)];
  };
}

// Marks the positions that go to the second part.
std::vector<bool> choose(const Dataset::Part& part, std::uint64_t size, double fraction,
                         std::uint64_t total, std::uint64_t seed) {
  const auto label_of = labels_of(part);
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

// The fold of each position: those of a label are dealt one by one, and the next label goes on
// where it ended.
std::vector<std::uint64_t> deal(const Dataset::Part& part, std::uint64_t size, std::uint64_t count,
                                std::uint64_t seed) {
  const auto label_of = labels_of(part);
  std::map<std::int64_t, Rows> of_labels;
  for (const std::uint64_t position : shuffled(size, seed, split_epoch)) {
    of_labels[label_of(position)].push_back(position);
  }
  std::vector<std::uint64_t> folds(size);
  std::uint64_t next = 0;
  for (const auto& [label, positions] : of_labels) {
    for (const std::uint64_t position : positions) folds[position] = next++ % count;
  }
  return folds;
}

}  // namespace

std::pair<Dataset, Dataset> data::PartAccess::in_two(const Dataset& data,
                                                     const std::vector<bool>& chosen) {
  const Dataset::Part& whole = of(data);
  auto first = std::make_shared<Dataset::Part>(whole);
  auto second = std::make_shared<Dataset::Part>(whole);
  first->rows.emplace();
  second->rows.emplace();
  for (std::uint64_t i = 0; i < chosen.size(); ++i) {
    (chosen[i] ? second : first)->rows->push_back(whole.stored(i));
  }
  scale_weights(*first);
  scale_weights(*second);
  Dataset training;
  training.train_ = std::move(first);
  Dataset validation;
  validation.train_ = std::move(second);
  return {std::move(training), std::move(validation)};
}

std::vector<std::pair<Dataset, Dataset>> Dataset::folds(std::uint64_t count,
                                                        std::uint64_t seed) const {
  return guard_memory("split the data", [&] {
    const std::uint64_t size = rows();
    if (count < 2 || count > size) {
      fail(ErrorCode::mismatch, "cross-validation needs 2 folds or more and a row for each, found ",
           count, " folds of ", size, " rows");
    }
    const std::vector<std::uint64_t> folds = deal(*train_, size, count, seed);
    std::vector<std::pair<Dataset, Dataset>> result;
    for (std::uint64_t fold = 0; fold < count; ++fold) {
      std::vector<bool> chosen(size);
      for (std::uint64_t i = 0; i < size; ++i) chosen[i] = folds[i] == fold;
      result.push_back(data::PartAccess::in_two(*this, chosen));
    }
    return result;
  });
}

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
    return data::PartAccess::in_two(*this, choose(*train_, size, fraction, total, seed));
  });
}

}  // namespace ondine
