// Products by matrices of few bits that are read where they lie, beside sums in double.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/simd/quantize/quantize_table.h"
#include "kernels/simd/quantize/stored_product_table.h"
#include "kernels/simd/tables.h"
#include "tests/kernels/common/math_test.h"

using namespace ondine::math;

namespace {

struct Sizes {
  std::int64_t m, n, k, block;
};

// A matrix with its numbers.
class Matrix {
 public:
  Matrix(StoredAs as, bool by_columns, bool has_zero_points, const Sizes& sizes,
         const std::array<float, 16>& levels)
      : levels_(levels) {
    const std::int64_t blocks = (sizes.k + sizes.block - 1) / sizes.block;
    const std::int64_t bytes = sizes.n * sizes.k / (as == StoredAs::nibbles ? 2 : 1);
    test::Numbers numbers(7);
    for (std::int64_t i = 0; i < bytes; ++i) elements_.push_back(byte(numbers));
    for (std::int64_t i = 0; i < blocks * sizes.n; ++i) {
      scales_.push_back(static_cast<float>(numbers.next() * 0.1 + 0.11));
      points_.push_back(static_cast<std::uint8_t>(byte(numbers) % 16));
    }
    stored = {.as = as,
              .by_columns = by_columns,
              .elements = elements_.data(),
              .n = sizes.n,
              .k = sizes.k,
              .levels = levels_.data(),
              .block = sizes.block,
              .block_step = by_columns ? 1 : sizes.n,
              .column_step = by_columns ? blocks : 1,
              .scales = scales_.data(),
              .zero_points = has_zero_points ? points_.data() : nullptr};
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  double number(std::int64_t p, std::int64_t j) const {
    const std::int64_t at = stored.by_columns ? j * stored.k + p : p * stored.n + j;
    const auto s =
        static_cast<std::size_t>(p / stored.block * stored.block_step + j * stored.column_step);
    const double zero =
        stored.zero_points != nullptr ? static_cast<double>(stored.zero_points[s]) : 0;
    return (element(at) - zero) * double{scales_[s]};
  }

  StoredMatrix stored;

 private:
  static std::uint8_t byte(test::Numbers& numbers) {
    return static_cast<std::uint8_t>((numbers.next() + 1) * 127.9);
  }
  double element(std::int64_t at) const {
    if (stored.as == StoredAs::nibbles) {
      const int pair = elements_[static_cast<std::size_t>(at / 2)];
      return double{levels_[static_cast<std::size_t>(at % 2 == 0 ? pair & 15 : pair >> 4)]};
    }
    const std::uint8_t x = elements_[static_cast<std::size_t>(at)];
    return static_cast<double>(
        stored.as == StoredAs::signed_bytes ? int{static_cast<std::int8_t>(x)} : int{x});
  }

  std::array<float, 16> levels_;
  std::vector<std::uint8_t> elements_, points_;
  std::vector<float> scales_;
};

std::array<float, 16> signed_levels() {
  std::array<float, 16> levels;
  for (int i = 0; i < 16; ++i) {
    levels[static_cast<std::size_t>(i)] = static_cast<float>(i < 8 ? i : i - 16);
  }
  return levels;
}

// The largest error, relative to the sum of magnitudes.
double error_of(const Matrix& matrix, const Sizes& sizes, const std::vector<float>& a,
                const std::vector<float>& bias, const std::vector<float>& c) {
  double worst = 0;
  for (std::int64_t i = 0; i < sizes.m; ++i) {
    for (std::int64_t j = 0; j < sizes.n; ++j) {
      double sum = double{bias[static_cast<std::size_t>(j)]};
      double magnitude = 1;
      for (std::int64_t p = 0; p < sizes.k; ++p) {
        const double term =
            double{a[static_cast<std::size_t>(i * sizes.k + p)]} * matrix.number(p, j);
        sum += term;
        magnitude += std::abs(term);
      }
      const double got = double{c[static_cast<std::size_t>(i * sizes.n + j)]};
      worst = std::max(worst, std::abs(got - sum) / magnitude);
    }
  }
  return worst;
}

void check(const Matrix& matrix, const Sizes& sizes) {
  test::Numbers numbers(3);
  const auto a = numbers.row<float>(sizes.m * sizes.k);
  const auto bias = numbers.row<float>(sizes.n);
  for (const SimdTables* kernels : test::vector_kernels()) {
    INFO(isa_name(*kernels) << ", " << sizes.m << " x " << sizes.n << " x " << sizes.k);
    const StoredProductKernels& rows = *kernels->quantize->stored_product;
    std::vector<float> c(static_cast<std::size_t>(sizes.m * sizes.n), 99), parts = c;
    StoredProductCall call{.m = sizes.m,
                           .last = sizes.n,
                           .a = a.data(),
                           .a_row = sizes.k,
                           .b = &matrix.stored,
                           .c = c.data(),
                           .ldc = sizes.n,
                           .bias = bias.data()};
    rows.run(call);
    CHECK(error_of(matrix, sizes, a, bias, c) < 1e-6);
    // Any columns have the same bits.
    call.c = parts.data();
    for (const std::int64_t end : {sizes.n / 6 * 2, sizes.n / 4 * 2, sizes.n}) {
      call.last = end;
      rows.run(call);
      call.first = end;
    }
    CHECK(test::same_bits(c, parts));
  }
}

}  // namespace

TEST_CASE("a matrix of few bits that is read where it lies has the product of its numbers") {
  const auto as = GENERATE(StoredAs::signed_bytes, StoredAs::unsigned_bytes, StoredAs::nibbles);
  const bool by_columns = GENERATE(false, true);
  const bool has_zero_points = GENERATE(false, true);
  // Less than a vector, parts of a strip, blocks that end within a vector and a rest of a block.
  for (const Sizes& sizes :
       {Sizes{1, 2, 6, 6}, Sizes{1, 330, 96, 32}, Sizes{2, 130, 70, 32}, Sizes{3, 128, 200, 200},
        Sizes{4, 62, 70, 14}, Sizes{7, 258, 66, 32}, Sizes{15, 138, 34, 16}}) {
    check(Matrix(as, by_columns, has_zero_points, sizes, signed_levels()), sizes);
  }
}

TEST_CASE("4 bits mean the numbers of uint4 less a whole one, and any where these are looked up") {
  std::array<float, 16> levels;
  for (int i = 0; i < 16; ++i) levels[static_cast<std::size_t>(i)] = static_cast<float>(i - 7);
  const Sizes sizes{3, 130, 70, 32};
  const bool by_columns = GENERATE(false, true);
  check(Matrix(StoredAs::nibbles, by_columns, false, sizes, levels), sizes);
  test::Numbers numbers(5);
  for (float& level : levels) level = static_cast<float>(numbers.next());
  const Matrix matrix(StoredAs::nibbles, by_columns, false, sizes, levels);
  const auto a = numbers.row<float>(sizes.m * sizes.k);
  const std::vector<float> bias(static_cast<std::size_t>(sizes.n));
  for (const SimdTables* kernels : test::vector_kernels()) {
    const StoredProductKernels& rows = *kernels->quantize->stored_product;
    CHECK(rows.any_levels == (kernels->isa != Isa::baseline));
    if (!rows.any_levels) continue;
    std::vector<float> c(static_cast<std::size_t>(sizes.m * sizes.n));
    rows.run({.m = sizes.m,
              .last = sizes.n,
              .a = a.data(),
              .a_row = sizes.k,
              .b = &matrix.stored,
              .c = c.data(),
              .ldc = sizes.n});
    CHECK(error_of(matrix, sizes, a, bias, c) < 1e-6);
  }
}
