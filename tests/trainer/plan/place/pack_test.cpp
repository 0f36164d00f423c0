// Compares the arena's layout with a search through all blocks, one after the other.
#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include <catch2/catch.hpp>

#include "trainer/plan/place/pack.h"

using ondine::trainer::alive_bytes;
using ondine::trainer::Interval;
using ondine::trainer::pack_intervals;
using ondine::trainer::Packing;

namespace {

std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

bool meet(const Interval& a, const Interval& b) { return a.first <= b.last && b.first <= a.last; }

// Every multiple of 64 is tried: the smallest hole that holds the block, the lowest of equal ones.
std::size_t best_offset(const std::vector<std::pair<std::size_t, std::size_t>>& occupied,
                        std::size_t bytes) {
  std::size_t top = 0;
  for (const auto& [begin, end] : occupied) top = std::max(top, end);
  std::vector<bool> used(top / 64, false);
  for (const auto& [begin, end] : occupied) {
    std::fill(used.begin() + static_cast<std::ptrdiff_t>(begin / 64),
              used.begin() + static_cast<std::ptrdiff_t>(end / 64), true);
  }
  std::size_t best = top, best_hole = top + 1;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i] || (i > 0 && !used[i - 1])) continue;
    std::size_t end = i;
    while (!used[end]) ++end;
    const std::size_t hole = (end - i) * 64;
    if (hole >= bytes && hole < best_hole) {
      best = i * 64;
      best_hole = hole;
    }
  }
  return best;
}

Packing one_by_one(const std::vector<Interval>& intervals) {
  std::vector<std::size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return intervals[a].bytes > intervals[b].bytes;
  });
  Packing packing{std::vector<std::size_t>(intervals.size()), 0};
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::size_t bytes = rounded(intervals[order[k]].bytes);
    std::vector<std::pair<std::size_t, std::size_t>> occupied;
    for (std::size_t j = 0; j < k; ++j) {
      if (!meet(intervals[order[j]], intervals[order[k]])) continue;
      const std::size_t begin = packing.offsets[order[j]];
      occupied.emplace_back(begin, begin + rounded(intervals[order[j]].bytes));
    }
    packing.offsets[order[k]] = best_offset(occupied, bytes);
    packing.bytes = std::max(packing.bytes, packing.offsets[order[k]] + bytes);
  }
  return packing;
}

// Position by position.
std::size_t alive_one_by_one(const std::vector<Interval>& intervals) {
  std::size_t most = 0;
  for (const Interval& at : intervals) {
    std::size_t alive = 0;
    for (const Interval& other : intervals) {
      if (other.first <= at.first && at.first <= other.last) alive += rounded(other.bytes);
    }
    most = std::max(most, alive);
  }
  return most;
}

void check(const std::vector<Interval>& intervals) {
  const Packing packing = pack_intervals(intervals);
  const Packing expected = one_by_one(intervals);
  CHECK(packing.offsets == expected.offsets);
  CHECK(packing.bytes == expected.bytes);
  CHECK(alive_bytes(intervals) == alive_one_by_one(intervals));
  CHECK(alive_bytes(intervals) <= packing.bytes);
}

}  // namespace

TEST_CASE("each block takes the smallest hole among those that live with it") {
  std::mt19937 random(7);
  for (const int longest : {3, 40, 700}) {
    std::vector<Interval> intervals;
    for (int i = 0; i < 900; ++i) {
      const auto first = static_cast<std::int32_t>(random() % 700);
      const auto last = first + static_cast<std::int32_t>(random() % longest);
      intervals.push_back({1 + random() % 1000, first, last});
    }
    check(intervals);
  }
}

TEST_CASE("activations and gradients of a chain share the arena as tightly as they can") {
  std::vector<Interval> intervals;
  const std::int32_t depth = 400;
  for (std::int32_t i = 0; i < depth; ++i) intervals.push_back({64, i, 2 * depth - i});
  for (std::int32_t i = 0; i < depth; ++i) intervals.push_back({64, depth + i, depth + i + 1});
  check(intervals);
  CHECK(pack_intervals(intervals).bytes == (depth + 2) * 64);
}

TEST_CASE("small blocks that live as long as all others or longer take the holes among them") {
  std::mt19937 random(11);
  std::vector<Interval> intervals;
  for (int i = 0; i < 900; ++i) {
    const auto first = static_cast<std::int32_t>(100 + random() % 10);
    const auto last = first + static_cast<std::int32_t>(random() % 4);
    intervals.push_back({500 + random() % 1500, first, last});
  }
  for (int i = 0; i < 300; ++i) {
    const auto first = static_cast<std::int32_t>(random() % 104);
    const auto last = static_cast<std::int32_t>(104 + random() % 104);
    intervals.push_back({1 + random() % 500, first, last});
  }
  check(intervals);
}

TEST_CASE("blocks that need more memory at once than the address space has are refused") {
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  const Interval half{most / 2, 0, 1};
  CHECK(pack_intervals(std::vector{half, Interval{most / 2, 2, 3}}).bytes <= most);
  CHECK_THROWS_WITH(pack_intervals(std::vector{half, half, half}),
                    Catch::Contains("the memory of a call") && Catch::Contains("address space"));
  constexpr auto alive = sizeof(std::size_t) == sizeof(std::uint64_t)
                             ? std::numeric_limits<std::uint64_t>::max()
                             : 3 * (std::uint64_t{most / 2} + 1);
  CHECK(alive_bytes(std::vector{half, half, half}) == alive);
}
