#include "core/random/random.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <set>
#include <vector>

#include "core/random/random_blocks.h"

using namespace ondine;

namespace {

using Block = std::array<std::uint32_t, 4>;

// Philox 4x32-10 as its paper defines it, one block at a time: the counter is (block, step), the
// key the seed, for stream 0.
Block philox(std::uint64_t block, std::uint64_t step, std::uint64_t seed) {
  std::array<std::uint64_t, 4> c{block & 0xffffffffU, block >> 32, step & 0xffffffffU, step >> 32};
  std::array<std::uint64_t, 2> k{seed & 0xffffffffU, seed >> 32};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t left = c[0] * 3528531795U;
    const std::uint64_t right = c[2] * 3449720151U;
    c = {(right >> 32) ^ c[1] ^ k[0], right & 0xffffffffU, (left >> 32) ^ c[3] ^ k[1],
         left & 0xffffffffU};
    k = {(k[0] + 2654435769U) & 0xffffffffU, (k[1] + 3144134277U) & 0xffffffffU};
  }
  Block out;
  for (std::size_t i = 0; i < 4; ++i) out[i] = static_cast<std::uint32_t>(c[i]);
  return out;
}

}  // namespace

TEST_CASE("random blocks are those of the known answer tests of Philox 4x32-10") {
  CHECK(random_block({0, 0, 0}, 0) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint64_t ones = ~std::uint64_t{0};
  CHECK(random_block({ones, ones, 0}, ones) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(random_block({0x299f31d0a4093822U, 0x0370734413198a2eU, 0}, 0x85a308d3243f6a88U) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("every bit of seed, step and block index counts") {
  const RandomKey key{0x0123456789abcdefU, 0xfedcba9876543210U, 0};
  const std::uint64_t index = 0x1122334455667788U;
  std::set<Block> seen{random_block(key, index)};
  CHECK(seen.contains(philox(index, key.step, key.seed)));
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t flip = std::uint64_t{1} << bit;
    const Block by_seed = random_block({key.seed ^ flip, key.step, 0}, index);
    const Block by_step = random_block({key.seed, key.step ^ flip, 0}, index);
    const Block by_index = random_block(key, index ^ flip);
    CHECK(by_seed == philox(index, key.step, key.seed ^ flip));
    CHECK(by_step == philox(index, key.step ^ flip, key.seed));
    CHECK(by_index == philox(index ^ flip, key.step, key.seed));
    seen.insert({by_seed, by_step, by_index});
  }
  for (std::uint32_t stream = 1; stream < 100; ++stream) {
    seen.insert(random_block({key.seed, key.step, stream}, index));
  }
  CHECK(seen.size() == 1 + 3 * 64 + 99);
}

TEST_CASE("many blocks at once are the blocks one by one, for every count and across 2^32") {
  const RandomKey key{7, 3, 5};
  const std::uint64_t first = 0xfffffffaU;
  for (std::size_t count = 0; count < 20; ++count) {
    std::vector<std::uint32_t> words(4 * count + 1, 42);
    random_blocks(key, first, count, words.data());
    for (std::size_t i = 0; i < count; ++i) {
      const Block want = random_block(key, first + i);
      INFO("block " << i << " of " << count);
      CHECK(std::equal(want.begin(), want.end(), words.begin() + static_cast<long>(4 * i)));
    }
    CHECK(words.back() == 42);
  }
}

TEST_CASE("uniform and normal numbers come from the words of a block") {
  const RandomKey key{11, 2, 0};
  for (std::uint64_t i = 0; i < 50; ++i) {
    const Block words = philox(i, key.step, key.seed);
    // The 53 leading bits of two words as a fraction.
    const auto fraction = [&](std::size_t at) {
      return (words[at] * 0x1p21 + std::floor(words[at + 1] / 0x1p11)) / 0x1p53;
    };
    const double u = fraction(0);
    const double v = fraction(2);
    CHECK(uniform_at(key, 2 * i) == u);
    CHECK(uniform_at(key, 2 * i + 1) == v);
    CHECK((u >= 0 && u < 1));
    // Box and Muller: the radius from u, the angle from v.
    const double radius = std::hypot(normal_at(key, 2 * i), normal_at(key, 2 * i + 1));
    CHECK(radius * radius == Approx(-2 * std::log(1 - u)).epsilon(1e-12));
    const double turns = std::atan2(normal_at(key, 2 * i + 1), normal_at(key, 2 * i)) / (2 * M_PI);
    CHECK(turns - std::floor(turns) == Approx(v).epsilon(1e-9));
  }
}
