#include "trainer/plan/place/pack.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/checked.h"

namespace ondine::trainer {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t no_gap = static_cast<std::size_t>(-1);

std::size_t rounded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

bool meet(const Interval& a, const Interval& b) { return a.first <= b.last && b.first <= a.last; }

struct Block {
  Interval interval;  // bytes are rounded
  std::size_t offset = 0;
};

// The search for the smallest gap among the blocks that a new one meets, in order of offsets. The
// first gap that fits exactly ends it.
struct GapSearch {
  Interval wanted;
  std::size_t best = 0;
  std::size_t best_gap = no_gap;
  std::size_t free_from = 0;

  void pass(std::size_t begin, std::size_t end) {
    const std::size_t gap = begin > free_from ? begin - free_from : 0;
    if (gap > 0 && gap >= wanted.bytes && gap < best_gap) {
      best = free_from;
      best_gap = gap;
    }
    free_from = std::max(free_from, end);
  }
  bool is_exact() const { return best_gap == wanted.bytes; }
  std::size_t offset() const { return best_gap == no_gap ? free_from : best; }
};

// Blocks that are neighbours in the arena. A summary of them lets most searches pass without a look
// at each.
class Chunk {
 public:
  explicit Chunk(std::vector<Block> blocks) : blocks_(std::move(blocks)) { summarize(); }

  std::size_t begin() const { return blocks_.front().offset; }
  std::size_t size() const { return blocks_.size(); }

  void search(GapSearch& search) const {
    if (!meet(any_, search.wanted)) return;
    const bool meets_all = all_first_ <= search.wanted.last && search.wanted.first <= all_last_;
    if (meets_all && largest_gap_ < search.wanted.bytes) return search.pass(begin(), end_);
    for (const Block& block : blocks_) {
      if (meet(block.interval, search.wanted)) {
        search.pass(block.offset, block.offset + block.interval.bytes);
        if (search.is_exact()) return;
      }
    }
  }

  void insert(const Block& block) {
    const auto at = std::lower_bound(
        blocks_.begin(), blocks_.end(), block.offset,
        [](const Block& placed, std::size_t offset) { return placed.offset < offset; });
    const std::size_t end = block.offset + block.interval.bytes;
    if (at == blocks_.begin() && end < begin()) {
      largest_gap_ = std::max(largest_gap_, begin() - end);
    }
    blocks_.insert(at, block);
    include(block);
  }

  // Gives the second half away.
  Chunk split() {
    const auto middle = blocks_.begin() + static_cast<std::ptrdiff_t>(blocks_.size() / 2);
    Chunk rest(std::vector<Block>(middle, blocks_.end()));
    blocks_.erase(middle, blocks_.end());
    summarize();
    return rest;
  }

 private:
  void summarize() {
    any_ = blocks_.front().interval;
    all_first_ = any_.first;
    all_last_ = any_.last;
    end_ = begin();
    largest_gap_ = 0;
    for (const Block& block : blocks_) include(block);
  }

  void include(const Block& block) {
    any_.first = std::min(any_.first, block.interval.first);
    any_.last = std::max(any_.last, block.interval.last);
    all_first_ = std::max(all_first_, block.interval.first);
    all_last_ = std::min(all_last_, block.interval.last);
    if (block.offset > end_) largest_gap_ = std::max(largest_gap_, block.offset - end_);
    end_ = std::max(end_, block.offset + block.interval.bytes);
  }

  std::vector<Block> blocks_;   // by offset
  Interval any_;                // from the first begin of a lifetime to the last end
  std::int32_t all_first_ = 0;  // from the last begin to the first end
  std::int32_t all_last_ = 0;
  std::size_t end_ = 0;
  std::size_t largest_gap_ = 0;  // no gap is larger if all blocks are in use
};

class Layout {
 public:
  std::size_t place(Interval interval) {
    interval.bytes = rounded(interval.bytes);
    GapSearch search{.wanted = interval};
    for (const Chunk& chunk : chunks_) {
      chunk.search(search);
      if (search.is_exact()) break;
    }
    const std::size_t offset = search.offset();
    size_in_memory(std::uint64_t{offset} + interval.bytes, "the memory of a call");
    insert({interval, offset});
    return offset;
  }

 private:
  static constexpr std::size_t max_blocks = 256;  // of a chunk

  void insert(const Block& block) {
    if (chunks_.empty()) {
      chunks_.emplace_back(std::vector{block});
      return;
    }
    auto after = std::upper_bound(
        chunks_.begin(), chunks_.end(), block.offset,
        [](std::size_t offset, const Chunk& chunk) { return offset < chunk.begin(); });
    const auto chunk = after == chunks_.begin() ? after : after - 1;
    chunk->insert(block);
    if (chunk->size() > max_blocks) chunks_.insert(chunk + 1, chunk->split());
  }

  std::vector<Chunk> chunks_;  // by offset
};

}  // namespace

std::uint64_t alive_bytes(std::span<const Interval> intervals) {
  if (intervals.empty()) return 0;
  const std::int32_t first = std::ranges::min(intervals, {}, &Interval::first).first;
  const std::int32_t last = std::ranges::max(intervals, {}, &Interval::last).last;
  std::vector<std::int64_t> change(static_cast<std::size_t>(last - first) + 2);
  bool overflows = false;
  const auto add = [&](std::int64_t& sum, std::int64_t bytes) {
    overflows |= __builtin_add_overflow(sum, bytes, &sum);
  };
  for (const Interval& interval : intervals) {
    const auto bytes = static_cast<std::int64_t>(rounded(interval.bytes));
    add(change[static_cast<std::size_t>(interval.first - first)], bytes);
    add(change[static_cast<std::size_t>(interval.last - first) + 1], -bytes);
  }
  std::int64_t alive = 0, most = 0;
  for (const std::int64_t more : change) {
    add(alive, more);
    most = std::max(most, alive);
  }
  return overflows ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(most);
}

Packing pack_intervals(std::span<const Interval> intervals) {
  Packing packing;
  packing.offsets.assign(intervals.size(), 0);
  std::vector<std::size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return intervals[a].bytes > intervals[b].bytes;
  });
  Layout layout;
  for (const std::size_t current : order) {
    packing.offsets[current] = layout.place(intervals[current]);
    packing.bytes =
        std::max(packing.bytes, packing.offsets[current] + rounded(intervals[current].bytes));
  }
  return packing;
}

}  // namespace ondine::trainer
