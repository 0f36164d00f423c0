#include "core/random.h"

#include <cmath>
#include <numbers>

namespace ondine {

std::array<std::uint32_t, 4> random_block(const RandomKey& key, std::uint64_t index) noexcept {
  // Key schedule of Philox: the seed; counter: block index, step and stream.
  std::uint32_t k0 = static_cast<std::uint32_t>(key.seed) ^ key.stream * 0x85EBCA6BU;
  std::uint32_t k1 = static_cast<std::uint32_t>(key.seed >> 32) ^ key.stream;
  std::array<std::uint32_t, 4> c{
      static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
      static_cast<std::uint32_t>(key.step), static_cast<std::uint32_t>(key.step >> 32)};
  for (int round = 0; round < 10; ++round) {
    const auto p0 = std::uint64_t{0xD2511F53} * c[0];
    const auto p1 = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return c;
}

std::array<double, 2> uniform_pair(const RandomKey& key, std::uint64_t i) noexcept {
  const auto block = random_block(key, i);
  return {uniform_double(block[0], block[1]), uniform_double(block[2], block[3])};
}

std::array<double, 2> normal_pair(const RandomKey& key, std::uint64_t i) noexcept {
  const auto [u, v] = uniform_pair(key, i);
  const double radius = std::sqrt(-2.0 * std::log1p(-u));
  const double angle = 2.0 * std::numbers::pi * v;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

double uniform_at(const RandomKey& key, std::uint64_t i) noexcept {
  return uniform_pair(key, i / 2)[i & 1];
}

double normal_at(const RandomKey& key, std::uint64_t i) noexcept {
  return normal_pair(key, i / 2)[i & 1];
}

}  // namespace ondine
