// Arithmetic of counts that stays at the largest number instead of overflowing.
#pragma once

#include <cstdint>
#include <limits>

namespace ondine::trainer {

inline std::uint64_t plus(std::uint64_t a, std::uint64_t b) noexcept {
  constexpr std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
  return a > max - b ? max : a + b;
}

inline std::uint64_t times(std::uint64_t a, std::uint64_t b) noexcept {
  constexpr std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
  return b != 0 && a > max / b ? max : a * b;
}

}  // namespace ondine::trainer
