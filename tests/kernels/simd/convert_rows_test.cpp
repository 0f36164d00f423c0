#include <algorithm>
#include <bit>
#include <vector>

#include "core/float_formats.h"
#include "kernels/simd/tables.h"
#include "kernels/simd/vector/convert_table.h"
#include "tests/kernels/common/math_test.h"

using namespace ondine;
using namespace ondine::math;

namespace {

// Bits around every value of a 16-bit format and halfway between two, of both signs.
std::vector<float> near_steps(std::uint32_t step) {
  std::vector<float> values;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += step / 2) {
    for (const std::uint32_t off : {0U, 1U, step / 4, ~0U}) {
      values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits) + off));
    }
  }
  return values;
}

}  // namespace

TEST_CASE("every 16-bit float becomes the same float32 on every instruction set") {
  std::vector<std::uint16_t> bits(65536 + 7);  // no whole number of vectors
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
  std::vector<float> got(bits.size());
  for (const SimdTables* kernels : math::test::all_kernels()) {
    CAPTURE(kernels->name);
    const auto check = [&](auto convert, auto make) {
      convert(got.data(), bits.data(), static_cast<std::int64_t>(bits.size()));
      CHECK(std::equal(got.begin(), got.end(), bits.begin(), [&](float x, std::uint16_t b) {
        return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(to_float(make(b)));
      }));
    };
    check(kernels->convert->bfloat16_to_float, [](std::uint16_t b) { return bfloat16{b}; });
    check(kernels->convert->float16_to_float, [](std::uint16_t b) { return float16{b}; });
  }
}

TEST_CASE("float32 is rounded to 16 bits in the same way on every instruction set") {
  const auto floats = near_steps(1U << 13);
  std::vector<std::uint16_t> got(floats.size());
  for (const SimdTables* kernels : math::test::all_kernels()) {
    CAPTURE(kernels->name);
    const auto check = [&](auto convert, auto want) {
      convert(got.data(), floats.data(), static_cast<std::int64_t>(floats.size()));
      CHECK(std::equal(got.begin(), got.end(), floats.begin(),
                       [&](std::uint16_t b, float x) { return b == want(x).bits; }));
    };
    check(kernels->convert->float_to_bfloat16, [](float x) { return to_bfloat16(x); });
    check(kernels->convert->float_to_float16, [](float x) { return to_float16(x); });
  }
}

TEST_CASE("rows of bfloat16 are added as the numbers that they hold") {
  constexpr std::size_t cols = 77, rows = 3, ld = 80;
  std::vector<std::uint16_t> bits(rows * ld);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    bits[i] = to_bfloat16(static_cast<float>(i) - 100).bits;
  }
  for (const SimdTables* kernels : math::test::all_kernels()) {
    CAPTURE(kernels->name);
    std::vector<float> sums(cols, 0.5F);
    kernels->convert->add_bfloat16_rows(sums.data(), bits.data(), rows, cols, ld);
    for (std::size_t j = 0; j < cols; ++j) {
      float expected = 0.5F;
      for (std::size_t i = 0; i < rows; ++i) expected += to_float(bfloat16{bits[i * ld + j]});
      CHECK(sums[j] == expected);
    }
  }
}
