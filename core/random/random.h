// Counter-based random numbers (Philox 4x32-10, Salmon et al. 2011): number i of a stream is a pure
// function of (seed, step, stream, i), so any thread may compute any part.
#pragma once

#include <array>
#include <cstdint>

namespace ondine {

struct RandomKey {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint32_t stream = 0;  // one for each random node
};

// Block `index` of a stream: four independent uniform 32-bit numbers.
std::array<std::uint32_t, 4> random_block(const RandomKey& key, std::uint64_t index) noexcept;

// Uniform in [0, 1): the top 53 bits of two words.
inline double uniform_double(std::uint32_t high, std::uint32_t low) noexcept {
  const auto bits = (static_cast<std::uint64_t>(high) << 32 | low) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

// Elements 2 i and 2 i + 1 of a uniform or standard normal sequence, from block i (Box-Muller).
std::array<double, 2> uniform_pair(const RandomKey& key, std::uint64_t i) noexcept;
std::array<double, 2> normal_pair(const RandomKey& key, std::uint64_t i) noexcept;
// Element i of the same.
double uniform_at(const RandomKey& key, std::uint64_t i) noexcept;
double normal_at(const RandomKey& key, std::uint64_t i) noexcept;

}  // namespace ondine
