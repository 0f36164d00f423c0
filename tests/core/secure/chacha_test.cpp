// Random numbers of a secret key.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <vector>

#include <ondine/error.h>

#include "core/secure/chacha.h"
#include "core/secure/entropy.h"
#include "core/secure/secret_numbers.h"

using namespace ondine;
using Catch::Contains;

namespace {

constexpr ChaChaKey counting_key{0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c,
                                 0x13121110, 0x17161514, 0x1b1a1918, 0x1f1e1d1c};

std::vector<double> normals(const SecretStream& stream, std::uint64_t pairs) {
  std::vector<double> numbers;
  for (std::uint64_t i = 0; i < pairs; ++i) {
    const auto pair = stream.normal_pair(i);
    numbers.insert(numbers.end(), pair.begin(), pair.end());
  }
  return numbers;
}

double moment(const std::vector<double>& numbers, int power) {
  double sum = 0;
  for (const double one : numbers) sum += std::pow(one, power);
  return sum / static_cast<double>(numbers.size());
}

bool fill_nothing(std::span<std::byte>) noexcept { return false; }

}  // namespace

TEST_CASE("blocks of ChaCha20 are those of RFC 8439, section 2.3.2 and appendix A.1") {
  CHECK(chacha_block(counting_key, 1, {0x09000000, 0x4a000000, 0}) ==
        ChaChaBlock{0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3, 0xc7f4d1c7, 0x0368c033,
                    0x9aaa2204, 0x4e6cd4c3, 0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9,
                    0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2});
  CHECK(chacha_block({}, 0, {}) == ChaChaBlock{0xade0b876, 0x903df1a0, 0xe56a5d40, 0x28bd8653,
                                               0xb819d2bd, 0x1aed8da0, 0xccef36a8, 0xc70d778b,
                                               0x7c5941da, 0x8d485751, 0x3fe02477, 0x374ad8b8,
                                               0xf4b8436a, 0x1ca11815, 0x69b687c3, 0x8665eeb2});
  CHECK(chacha_block({}, 1, {}) == ChaChaBlock{0xbee7079f, 0x7a385155, 0x7c97ba98, 0x0d082d73,
                                               0xa0290fcb, 0x6965e348, 0x3e53c612, 0xed7aee32,
                                               0x7621b729, 0x434ee69c, 0xb03371d5, 0xd539d874,
                                               0x281fed31, 0x45fb0a51, 0x1f0ae1ac, 0x6f4d794b});
}

TEST_CASE("secret normal numbers have the moments and the distribution of normal ones") {
  std::vector<double> numbers = normals(SecretStream(counting_key, 5, 3), 100'000);
  const auto n = static_cast<double>(numbers.size());
  CHECK(std::abs(moment(numbers, 1)) < 4 / std::sqrt(n));
  CHECK(std::abs(moment(numbers, 2) - 1) < 4 * std::sqrt(2 / n));
  CHECK(std::abs(moment(numbers, 3)) < 4 * std::sqrt(15 / n));
  CHECK(std::abs(moment(numbers, 4) - 3) < 4 * std::sqrt(96 / n));
  double products = 0;  // of the two numbers of a pair
  for (std::size_t i = 0; i < numbers.size(); i += 2) products += numbers[i] * numbers[i + 1];
  CHECK(std::abs(products / (n / 2)) < 4 / std::sqrt(n / 2));
  std::sort(numbers.begin(), numbers.end());
  double distance = 0;  // of Kolmogorov and Smirnov
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double below = 0.5 * std::erfc(-numbers[i] / std::sqrt(2.0));
    const auto rank = static_cast<double>(i);
    distance = std::max({distance, std::abs(below - rank / n), std::abs(below - (rank + 1) / n)});
  }
  CHECK(distance < 1.95 / std::sqrt(n));  // passed by 1 sample in 1,000
}

TEST_CASE("secret uniform numbers fill the unit interval evenly") {
  const SecretStream stream(counting_key, 1, 2);
  std::vector<int> of_tenth(10);
  for (std::uint64_t i = 0; i < 12'500; ++i) {
    for (const double u : stream.uniform_eight(i)) {
      REQUIRE((u >= 0 && u < 1));
      ++of_tenth[static_cast<std::size_t>(10 * u)];
    }
  }
  for (const int count : of_tenth) CHECK(std::abs(count - 10'000) < 400);
}

TEST_CASE("streams, calls and keys have numbers of their own") {
  const auto first = [](const SecretStream& stream) { return stream.normal_pair(0)[0]; };
  ChaChaKey other = counting_key;
  other[7] ^= 1;
  const std::set<double> seen{
      first({counting_key, 0, 0}), first({counting_key, 0, 1}),
      first({counting_key, 1, 0}), first({counting_key, std::uint64_t{1} << 32, 0}),
      first({other, 0, 0}),        SecretStream(counting_key, 0, 0).normal_pair(1)[0]};
  CHECK(seen.size() == 6);
}

TEST_CASE("no two calls of a key and no two keys draw the same") {
  SecretKey key, another;
  std::set<double> seen;
  for (SecretKey* one : {&key, &another}) {
    for (int call = 0; call < 3; ++call) {
      const SecretScope scope(one);
      const double drawn = SecretScope::stream(1).normal_pair(0)[0];
      CHECK(drawn == SecretScope::stream(1).normal_pair(0)[0]);
      seen.insert(drawn);
    }
  }
  CHECK(seen.size() == 6);
}

TEST_CASE("an inner call draws by its own key, and none draws outside of calls") {
  SecretKey key, another;
  const SecretScope outer(&key);
  const double before = SecretScope::stream(1).normal_pair(0)[0];
  {
    const SecretScope inner(&another);
    CHECK(SecretScope::stream(1).normal_pair(0)[0] != before);
    const SecretScope nothing(nullptr);
    CHECK(SecretScope::stream(1).normal_pair(0)[0] != before);
  }
  CHECK(SecretScope::stream(1).normal_pair(0)[0] == before);
}

TEST_CASE("a system without entropy gives no key") {
  const EntropySource source = replace_entropy_source(fill_nothing);
  CHECK_THROWS_WITH(SecretKey(), Contains("fit for cryptography"));
  CHECK_THROWS_WITH(SecretScope::stream(0), Contains("outside of a call"));
  replace_entropy_source(source);
  CHECK_NOTHROW(SecretKey());
}
