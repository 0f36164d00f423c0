// Whole numbers in units of others; what is rounded is not negative.
#pragma once

#include <cstdint>

namespace ondine::math {

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t unit) {
  return divide_up(a, unit) * unit;
}

// The elements of an odd number of cache lines, each of `line` elements: rows that lie so far apart
// do not share sets of a cache.
constexpr std::int64_t odd_lines(std::int64_t elements, std::int64_t line) {
  return (divide_up(elements, line) | 1) * line;
}

}  // namespace ondine::math
