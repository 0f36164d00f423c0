#include "trainer/plan/pack.h"

#include <algorithm>
#include <numeric>

namespace ondine::trainer {
namespace {

constexpr std::size_t alignment = 64;

std::size_t rounded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

Packing pack_intervals(std::span<const Interval> intervals) {
  Packing packing;
  packing.offsets.assign(intervals.size(), 0);
  std::vector<std::size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return intervals[a].bytes > intervals[b].bytes;
  });
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t current : order) {
    const Interval& interval = intervals[current];
    const std::size_t bytes = rounded(interval.bytes);
    std::size_t best = 0;
    std::size_t best_gap = static_cast<std::size_t>(-1);
    std::size_t free_from = 0;
    for (const std::size_t other : placed) {
      const Interval& o = intervals[other];
      if (o.last < interval.first || interval.last < o.first) continue;
      const std::size_t start = packing.offsets[other];
      if (start > free_from && start - free_from >= bytes && start - free_from < best_gap) {
        best = free_from;
        best_gap = start - free_from;
      }
      free_from = std::max(free_from, start + rounded(o.bytes));
    }
    packing.offsets[current] = best_gap == static_cast<std::size_t>(-1) ? free_from : best;
    packing.bytes = std::max(packing.bytes, packing.offsets[current] + bytes);
    const auto at = std::lower_bound(
        placed.begin(), placed.end(), packing.offsets[current],
        [&](std::size_t p, std::size_t offset) { return packing.offsets[p] < offset; });
    placed.insert(at, current);
  }
  return packing;
}

}  // namespace ondine::trainer
