#include "core/random/random.h"

#include <cmath>
#include <numbers>

#include "core/random/random_blocks.h"

namespace ondine {

namespace {

// `Lanes` neighbouring blocks at once, which the compiler turns into vector instructions.
template <std::size_t Lanes>
void generate(const RandomKey& key, std::uint64_t first, std::uint32_t* words) noexcept {
  // Key schedule of Philox: the seed; counter: block index, step and stream.
  std::uint32_t k0 = static_cast<std::uint32_t>(key.seed) ^ key.stream * 0x85EBCA6BU;
  std::uint32_t k1 = static_cast<std::uint32_t>(key.seed >> 32) ^ key.stream;
  std::uint32_t c[4][Lanes];
  for (std::size_t i = 0; i < Lanes; ++i) {
    c[0][i] = static_cast<std::uint32_t>(first + i);
    c[1][i] = static_cast<std::uint32_t>((first + i) >> 32);
    c[2][i] = static_cast<std::uint32_t>(key.step);
    c[3][i] = static_cast<std::uint32_t>(key.step >> 32);
  }
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < Lanes; ++i) {
      const auto p0 = std::uint64_t{0xD2511F53} * c[0][i];
      const auto p1 = std::uint64_t{0xCD9E8D57} * c[2][i];
      c[0][i] = static_cast<std::uint32_t>(p1 >> 32) ^ c[1][i] ^ k0;
      c[1][i] = static_cast<std::uint32_t>(p1);
      c[2][i] = static_cast<std::uint32_t>(p0 >> 32) ^ c[3][i] ^ k1;
      c[3][i] = static_cast<std::uint32_t>(p0);
    }
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  for (std::size_t i = 0; i < Lanes; ++i) {
    for (std::size_t word = 0; word < 4; ++word) words[4 * i + word] = c[word][i];
  }
}

}  // namespace

std::array<std::uint32_t, 4> random_block(const RandomKey& key, std::uint64_t index) noexcept {
  std::array<std::uint32_t, 4> words;
  generate<1>(key, index, words.data());
  return words;
}

void random_blocks(const RandomKey& key, std::uint64_t first, std::size_t count,
                   std::uint32_t* words) noexcept {
  constexpr std::size_t lanes = 8;
  std::size_t done = 0;
  for (; done + lanes <= count; done += lanes) {
    generate<lanes>(key, first + done, words + 4 * done);
  }
  for (; done < count; ++done) generate<1>(key, first + done, words + 4 * done);
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
