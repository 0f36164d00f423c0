// Made-up operands, the same in every run.
#pragma once

#include <cstdint>
#include <vector>

namespace bench {

// n numbers in [-1, 1).
inline std::vector<float> numbers(std::int64_t n) {
  std::vector<float> x(static_cast<std::size_t>(n));
  std::uint32_t state = 1;
  for (auto& v : x) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
  }
  return x;
}

}  // namespace bench
