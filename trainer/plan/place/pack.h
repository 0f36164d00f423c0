// Packs memory blocks with limited lifetimes into one arena.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ondine::trainer {

struct Interval {
  std::size_t bytes = 0;
  std::int32_t first = 0;  // inclusive
  std::int32_t last = 0;
};

struct Packing {
  std::vector<std::size_t> offsets;  // multiples of 64
  std::size_t bytes = 0;             // of the arena
};

// The most bytes that are alive at once, or the largest number where they overflow. An arena takes
// no fewer, and a little more with gaps between blocks.
std::uint64_t alive_bytes(std::span<const Interval> intervals);

// Assigns offsets so that blocks with overlapping lifetimes do not overlap in memory: largest
// first, each in the smallest gap that fits (Pisarchyk and Lee 2020, greedy by size).
Packing pack_intervals(std::span<const Interval> intervals);

}  // namespace ondine::trainer
