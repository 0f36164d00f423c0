// Functions with the same bits for every instruction set.
#include "kernels/simd/exact/exact_kernels.h"

#include <cmath>
#include <numbers>

#include "kernels/signal/line_transform.h"
#include "tests/kernels/common/math_test.h"

using namespace ondine;
using namespace ondine::math;

namespace {

double uniform(std::uint32_t word) { return (std::floor(word / 2.0) + 0.5) * 0x1p-31; }

// Normal pair by its definition: element 0 has the cosine, element 1 the sine.
std::array<double, 2> normal_pair(std::uint32_t first, std::uint32_t second) {
  const double radius = std::sqrt(-2 * std::log(uniform(first)));
  const double angle = 2 * std::numbers::pi * static_cast<std::int32_t>(second) * 0x1p-32;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace

TEST_CASE("normal numbers are those of the words of Philox, for every instruction set") {
  constexpr std::int64_t groups = 40;
  for (const std::uint64_t first :
       {std::uint64_t{3}, (std::uint64_t{1} << 28) - 5, (std::uint64_t{1} << 59) + 11}) {
    const RandomKey key{0x123456789abcdef0U, (std::uint64_t{7} << 32) + 9, 0xfffffffcU};
    std::vector<float> expected;
    for (const SimdTables* kernels : math::test::all_kernels()) {
      INFO(isa_name(*kernels) << ", " << first);
      std::vector<float> found(64 * groups + 1, 99);
      exact_kernels(*kernels).normals(found.data(), key, first, groups);
      REQUIRE(found.back() == 99);
      if (expected.empty()) expected = found;
      CHECK(found == expected);
    }
    double worst = 0;
    for (std::size_t g = 0; g < groups; ++g) {
      for (std::size_t l = 0; l < 16; ++l) {
        const auto words = random_block(key, 16 * (first + g) + l);
        for (const std::size_t half : {0U, 1U}) {
          const auto pair = normal_pair(words[2 * half], words[2 * half + 1]);
          for (const std::size_t i : {0U, 1U}) {
            const auto found = static_cast<double>(expected[64 * g + 16 * (2 * half + i) + l]);
            worst = std::max(worst, std::abs(found - pair[i]));
          }
        }
      }
    }
    CHECK(worst < 2e-6);
  }
}

TEST_CASE("transforms of several lines at once have the bits of those of one line") {
  for (const std::int64_t n : {8, 16, 32, 64, 256, 1024, 4096}) {
    const RealFft fft(n);
    const FourierTables tables = fft.tables().value();
    const std::int64_t step = n / 2 + 1;  // the lines overlap
    for (const std::int64_t count : {1, 3, 8, 21}) {
      const auto x = math::test::Numbers(5).row<float>(step * count + n);
      for (const std::int64_t bins : {n / 2 + 1, n / 2 - 1, std::int64_t{1}}) {
        std::vector<float> expected(static_cast<std::size_t>(count * 2 * bins) + 1, 99);
        std::vector<std::complex<double>> line(static_cast<std::size_t>(n));
        for (std::int64_t l = 0; l < count; ++l) {
          const float* const from = x.data() + l * step;
          for (std::int64_t j = 0; j < n / 2; ++j) {
            line[static_cast<std::size_t>(j)] = {from[2 * j], from[2 * j + 1]};
          }
          fft.run(line.data(), nullptr);
          float* const to = expected.data() + l * 2 * bins;
          for (std::int64_t j = 0; j < bins; ++j) {
            to[2 * j] = static_cast<float>(line[static_cast<std::size_t>(j)].real());
            to[2 * j + 1] = static_cast<float>(line[static_cast<std::size_t>(j)].imag());
          }
        }
        for (const SimdTables* kernels : math::test::all_kernels()) {
          INFO(isa_name(*kernels) << ", n " << n << ", lines " << count << ", bins " << bins);
          std::vector<float> found(expected.size(), 99);
          std::vector<double> scratch(static_cast<std::size_t>(fourier_scratch(n / 2)) + 1, 99);
          exact_kernels(*kernels).fourier(
              tables, {count, x.data(), step, found.data(), 2 * bins, bins}, scratch.data());
          CHECK(found == expected);
          CHECK(scratch.back() == 99);
        }
      }
    }
  }
  CHECK_FALSE(RealFft(4).tables());
  CHECK_FALSE(RealFft(100).tables());
  CHECK_FALSE(RealFft(1 << 13).tables());
}

TEST_CASE("rows of floats are transformed as those of doubles, by any number of threads") {
  constexpr std::int64_t n = 32;
  for (const std::int64_t count : {1, 7, 300}) {
    for (const std::int64_t given : {n, n + 5}) {
      const Shape x{count, given, 1};
      const Shape y{count, n / 2 + 1, 2};
      LineTransform::Lines lines{.in = kernels::AxisView(x, 1),
                                 .out = kernels::AxisView(y, 1),
                                 .in_parts = 1,
                                 .out_parts = 2,
                                 .n = n,
                                 .results = n};
      const LineTransform transform(lines);
      REQUIRE(transform.has_rows());
      const auto from = math::test::Numbers(6).row<float>(x.size());
      const std::vector<double> wide(from.begin(), from.end());
      std::vector<double> result(static_cast<std::size_t>(y.size()));
      std::vector<std::complex<double>> scratch(static_cast<std::size_t>(transform.scratch()));
      ThreadPool one(1);
      transform.run(one, wide.data(), result.data(), scratch.data());
      const std::vector<float> expected(result.begin(), result.end());
      for (const int threads : {1, 3}) {
        INFO(count << " rows of " << given << ", threads " << threads);
        ThreadPool pool(threads);
        std::vector<float> found(expected.size());
        std::vector<double> memory(static_cast<std::size_t>(transform.rows_scratch()));
        transform.run_rows(pool, from.data(), found.data(), memory.data());
        CHECK(found == expected);
      }
      lines.positive = true;
      CHECK_FALSE(LineTransform(lines).has_rows());
      lines.positive = false;
      lines.scale = 0.5;
      CHECK_FALSE(LineTransform(lines).has_rows());
    }
  }
}
