#include "kernels/ml/forest.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/message.h"
#include "core/stop.h"

namespace ondine::kernels {

// The first record of the children of branch i is roots_ + 2 i.
Forest::Forest(const Trees& trees)
    : roots_(trees.roots.size()),
      members_(trees.members),
      targets_(trees.targets),
      aggregate_(trees.aggregate),
      base_(trees.base) {
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
  if (trees.branches.size() > (most - roots_) / 2) {
    fail(ErrorCode::limit, trees.branches.size(), " branches of trees are too many");
  }
  records_.reserve(roots_ + 2 * trees.branches.size());
  const auto push = [&](Trees::Child child) {
    records_.push_back(child.leaf ? leaf(trees.leaves[child.index]) : branch(trees, child.index));
  };
  for (const Trees::Child root : trees.roots) push(root);
  for (const Trees::Branch& one : trees.branches) {
    const bool swapped = one.compare == Compare::gte || one.compare == Compare::gt;
    push(swapped ? one.no : one.yes);
    push(swapped ? one.yes : one.no);
  }
}

// x < s is x <= the number before s, and x > s, x >= s are what the other side is not.
Forest::Record Forest::branch(const Trees& trees, std::uint32_t index) {
  const Trees::Branch& from = trees.branches[index];
  if (from.feature >= std::int64_t{1} << kind_shift) {
    fail(ErrorCode::limit, "a tree reads feature ", from.feature, ", at most ",
         (std::int64_t{1} << kind_shift) - 1, " is possible");
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Record record{from.split, static_cast<std::uint32_t>(from.feature),
                static_cast<std::uint32_t>(roots_ + 2 * std::size_t{index})};
  bool first = from.missing_is_true;
  Kind kind = Kind::leq;
  switch (from.compare) {
    case Compare::leq:
    case Compare::gt:
      break;
    case Compare::lt:
    case Compare::gte:
      if (from.split == -infinity) {
        kind = Kind::lt;
      } else {
        record.split = std::nextafter(from.split, -infinity);
      }
      break;
    case Compare::eq:
      kind = Kind::eq;
      break;
    case Compare::neq:
      kind = Kind::neq;
      break;
    case Compare::member:
      kind = Kind::member;
      record.split = std::bit_cast<double>(Range{from.first_member, from.last_member});
      break;
  }
  if (from.compare == Compare::gte || from.compare == Compare::gt) first = !first;
  only_leq_ = only_leq_ && kind == Kind::leq;
  record.place |= place_of(kind) | (first ? nan_first : 0);
  return record;
}

Forest::Record Forest::leaf(const std::vector<Trees::Vote>& votes) {
  if (votes.size() == 1) return {votes[0].weight, place_of(Kind::vote), votes[0].target};
  const Range range{static_cast<std::uint32_t>(votes_.size()),
                    static_cast<std::uint32_t>(votes_.size() + votes.size())};
  votes_.insert(votes_.end(), votes.begin(), votes.end());
  return {std::bit_cast<double>(range), place_of(Kind::votes), 0};
}

bool Forest::takes_first(const Record& record, double x) const {
  if (std::isnan(x)) return (record.place & nan_first) != 0;
  switch (kind_of(record)) {
    case Kind::leq:
      return x <= record.split;
    case Kind::lt:
      return x < record.split;
    case Kind::eq:
      return x == record.split;
    case Kind::neq:
      return x != record.split;
    default:
      break;
  }
  const auto range = std::bit_cast<Range>(record.split);
  checkpoint((range.last - range.first) / 2);
  const auto end = members_.begin() + range.last;
  return std::find(members_.begin() + range.first, end, x) != end;
}

// Without jumps: which side a branch takes cannot be foretold.
void Forest::walk(Walks& walks) const {
  constexpr std::uint32_t first_leaf = place_of(Kind::vote);
  constexpr std::uint32_t feature_mask = place_of(Kind{1}) - 1;
  const Record* const records = records_.data();
  std::int64_t steps = 0;
  for (bool all_leaves = false; !all_leaves; ++steps) {
    all_leaves = true;
    for (std::size_t k = 0; k < lanes; ++k) {
      const Record& record = records[walks.at[k]];
      const bool is_leaf = (record.place & ~nan_first) >= first_leaf;
      const double x = walks.x[k][is_leaf ? 0 : record.place & feature_mask];
      const bool nan = (x != x) & ((record.place & nan_first) != 0);
      const std::uint32_t side = !((x <= record.split) | nan);
      walks.at[k] = is_leaf ? walks.at[k] : record.next + side;
      all_leaves &= is_leaf;
    }
  }
  checkpoint(steps * static_cast<std::int64_t>(4 * lanes));
}

void Forest::walk_any(Walks& walks) const {
  for (std::size_t k = 0; k < lanes; ++k) {
    const Record* record = &records_[walks.at[k]];
    std::int64_t steps = 1;
    for (; kind_of(*record) < Kind::vote; ++steps) {
      const double x = walks.x[k][record->place & (place_of(Kind{1}) - 1)];
      record = &records_[record->next + (takes_first(*record, x) ? 0 : 1)];
    }
    checkpoint(8 * steps);
    walks.at[k] = static_cast<std::uint32_t>(record - records_.data());
  }
}

void Forest::add(std::uint32_t target, double weight, double* scores, double* voted) const {
  double& score = scores[target];
  if (aggregate_ == Aggregate::sum || aggregate_ == Aggregate::average) {
    score += weight;
    return;
  }
  if (voted[target] == 0) {
    score = weight;
  } else {
    score = aggregate_ == Aggregate::min ? std::min(score, weight) : std::max(score, weight);
  }
  voted[target] = 1;
}

void Forest::vote(const Record& leaf, double* scores, double* voted) const {
  if (kind_of(leaf) == Kind::vote) return add(leaf.next, leaf.split, scores, voted);
  const auto range = std::bit_cast<Range>(leaf.split);
  checkpoint(range.last - range.first);
  for (std::uint32_t i = range.first; i < range.last; ++i) {
    add(votes_[i].target, votes_[i].weight, scores, voted);
  }
}

// Every row sees the trees in their order. Four rows walk through a tree, or one through four
// trees.
void Forest::evaluate(std::span<const double> x, std::size_t features, std::span<double> scores,
                      std::span<double> voted) const {
  std::fill(scores.begin(), scores.end(), 0.0);
  std::fill(voted.begin(), voted.end(), 0.0);
  const std::size_t rows = targets_ == 0 ? 0 : scores.size() / targets_;
  const auto go = [&](Walks& walks) { only_leq_ ? walk(walks) : walk_any(walks); };
  const auto take = [&](const Walks& walks, std::size_t lane, std::size_t row) {
    vote(records_[walks.at[lane]], scores.data() + row * targets_, voted.data() + row * targets_);
  };
  const std::size_t whole = rows / lanes * lanes;
  for (std::size_t tree = 0; tree < roots_; tree += lanes) {
    const std::size_t trees = std::min(lanes, roots_ - tree);
    for (std::size_t t = tree; t < tree + trees; ++t) {
      for (std::size_t row = 0; row < whole; row += lanes) {
        Walks walks;
        for (std::size_t k = 0; k < lanes; ++k) {
          walks.x[k] = x.data() + (row + k) * features;
          walks.at[k] = static_cast<std::uint32_t>(t);
        }
        go(walks);
        for (std::size_t k = 0; k < lanes; ++k) take(walks, k, row + k);
      }
    }
    for (std::size_t row = whole; row < rows; ++row) {
      Walks walks;
      for (std::size_t k = 0; k < lanes; ++k) {
        walks.x[k] = x.data() + row * features;
        walks.at[k] = static_cast<std::uint32_t>(tree + std::min(k, trees - 1));
      }
      go(walks);
      for (std::size_t k = 0; k < trees; ++k) take(walks, k, row);
    }
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (aggregate_ == Aggregate::average && roots_ > 0) scores[i] /= static_cast<double>(roots_);
    if (!base_.empty()) scores[i] += base_[i % targets_];
  }
}

}  // namespace ondine::kernels
