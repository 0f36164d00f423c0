// Normal numbers in vectors, against the definition in core/random/random.h.
#include <bit>
#include <cmath>

#include "kernels/simd/exact/exact_kernels.h"
#include "tests/kernels/common/math_test.h"

using namespace ondine;
using namespace ondine::math;

namespace {

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

struct Found {
  std::size_t wrong = 0;  // numbers with other bits, of pairs that were not left to the caller
  std::size_t left = 0;   // pairs that were
};

Found compare(const SimdTables& kernels, const NormalRun& run) {
  const auto pairs = static_cast<std::size_t>(run.pairs);
  std::vector<float> to(2 * pairs + 1, 99);
  std::vector<std::int32_t> doubtful(pairs);
  const std::int64_t count = exact_kernels(kernels).box_muller(to.data(), run, doubtful.data());
  REQUIRE(to.back() == 99);
  std::vector<bool> is_left(pairs);
  for (std::int64_t i = 0; i < count; ++i) {
    is_left.at(static_cast<std::size_t>(doubtful[static_cast<std::size_t>(i)])) = true;
  }
  Found found{.left = static_cast<std::size_t>(count)};
  for (std::size_t i = 0; i < pairs; ++i) {
    const auto pair = normal_pair(run.key, run.first + i);
    for (std::size_t k = 0; k < 2 && !is_left[i]; ++k) {
      const auto expected = static_cast<float>(run.shift + run.scale * pair[k]);
      found.wrong += bits_of(expected) != bits_of(to[2 * i + k]);
    }
  }
  return found;
}

}  // namespace

TEST_CASE(
    "normal numbers of vectors have the bits of their definition, for every instruction set") {
  constexpr std::int64_t pairs = 1 << 19;
  for (const SimdTables* kernels : math::test::all_kernels()) {
    INFO(isa_name(*kernels));
    const RandomKey key{0x123456789abcdef0U, (std::uint64_t{7} << 32) + 9, 0xfffffffcU};
    const Found found = compare(*kernels, {key, (std::uint64_t{1} << 32) - 1000, pairs, 0, 1.1});
    CHECK(found.wrong == 0);
    CHECK(found.left > 0);
    CHECK(found.left < pairs / 1000);
  }
}

TEST_CASE("means and scales of any size leave the bits of normal numbers as they are") {
  constexpr std::int64_t pairs = 1 << 14;
  for (const SimdTables* kernels : math::test::all_kernels()) {
    for (const double shift : {0.0, 1.0, -3e5, 1e-30, 3e38}) {
      for (const double scale : {0.0, -1.0, 1e-45, 1e-38, 4e37, 1e-5}) {
        INFO(isa_name(*kernels) << ", mean " << shift << ", scale " << scale);
        const Found found = compare(*kernels, {{5, 6, 7}, 3, pairs, shift, scale});
        CHECK(found.wrong == 0);
        if (shift != 0 || scale != 0) CHECK(found.left < pairs / 100);
      }
    }
  }
}

TEST_CASE("an infinite scale leaves all normal numbers to the caller, NaN makes them NaN") {
  for (const SimdTables* kernels : math::test::all_kernels()) {
    std::vector<float> to(128);
    std::vector<std::int32_t> doubtful(64);
    NormalRun run{{1, 2, 3}, 0, 64, 0, HUGE_VAL};
    CHECK(exact_kernels(*kernels).box_muller(to.data(), run, doubtful.data()) == 64);
    run.scale = std::nan("");
    exact_kernels(*kernels).box_muller(to.data(), run, doubtful.data());
    for (const float x : to) CHECK(std::isnan(x));
  }
}
