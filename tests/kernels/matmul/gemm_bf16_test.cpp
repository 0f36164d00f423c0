#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "core/float_formats.h"
#include "kernels/matmul/gemm_primitive.h"
#include "kernels/matmul/packed_gemm.h"
#include "kernels/simd/tables.h"
#include "tests/kernels/common/lower_kernels.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using Index = std::int64_t;

float rounded(float value) { return to_float(to_bfloat16(value)); }

struct Product {
  GemmShape shape;
  std::vector<float> a, b, c;
  GemmOptions<float> options = {};

  // An lda of 0: a little more than a row.
  Product(Index m, Index n, Index k, bool trans_a, bool trans_b, Index lda = 0)
      : shape{m,
              n,
              k,
              trans_a,
              trans_b,
              lda > 0 ? lda : (trans_a ? m : k) + 3,
              (trans_b ? k : n) + 1,
              n + 2} {
    Numbers numbers(static_cast<std::uint64_t>(m * 7919 + n * 31 + k));
    a = numbers.row<float>((trans_a ? k : m) * shape.lda);
    b = numbers.row<float>((trans_b ? n : k) * shape.ldb);
    c = numbers.row<float>(m * shape.ldc);
  }

  std::pair<float, float> factors(Index i, Index j, Index p) const {
    const auto& s = shape;
    return {a[static_cast<std::size_t>(s.trans_a ? p * s.lda + i : i * s.lda + p)],
            b[static_cast<std::size_t>(s.trans_b ? j * s.ldb + p : p * s.ldb + j)]};
  }

  std::vector<float> run(int threads, const SimdTables& kernels) const {
    ThreadPool pool(threads);
    Scratch scratch(gemm_workspace<float>(shape, 1, threads, kernels));
    auto result = c;
    gemm(pool, shape, a.data(), b.data(), result.data(), options, scratch, kernels);
    CHECK(scratch.intact());
    return result;
  }
};

// Elements of C against products of rounded factors in double, and those between rows unchanged.
void check(const Product& t, const std::vector<float>& result) {
  const auto& s = t.shape;
  std::vector<float> row_of_a(static_cast<std::size_t>(s.m * s.k));
  std::vector<float> column_of_b(static_cast<std::size_t>(s.n * s.k));
  for (Index p = 0; p < s.k; ++p) {
    for (Index i = 0; i < s.m; ++i)
      row_of_a[static_cast<std::size_t>(i * s.k + p)] = rounded(t.factors(i, 0, p).first);
    for (Index j = 0; j < s.n; ++j)
      column_of_b[static_cast<std::size_t>(j * s.k + p)] = rounded(t.factors(0, j, p).second);
  }
  bool right = true;
  for (Index i = 0; i < s.m; ++i) {
    for (Index j = 0; j < s.ldc && i * s.ldc + j < static_cast<Index>(result.size()); ++j) {
      const auto at = static_cast<std::size_t>(i * s.ldc + j);
      if (j >= s.n) {
        right = right && result[at] == t.c[at];
        continue;
      }
      double sum = 0;
      double size = 0;
      const float* const a = row_of_a.data() + i * s.k;
      const float* const b = column_of_b.data() + j * s.k;
      for (Index p = 0; p < s.k; ++p) {
        const double product = double{a[p]} * double{b[p]};
        sum += product;
        size += std::abs(product);
      }
      const float before = t.options.addend ? t.options.addend[at] : t.c[at];
      const double old = double{t.options.beta} * double{before};
      double wanted = double{t.options.alpha} * sum + old;
      if (t.options.col_bias) wanted += double{t.options.col_bias[j]};
      if (t.options.row_bias) wanted += double{t.options.row_bias[i]};
      if (t.options.activation == Activation::relu) wanted = std::max(wanted, 0.0);
      const double error = std::abs(wanted - double{result[at]});
      right = right && error <= 1e-6 * (size + std::abs(old) + 1);
    }
  }
  CHECK(right);
}

const SimdTables* lower_kernels() {
  const SimdTables* const tiles = simd_tables_for(Isa::amx, ProductMode::bf16);
  return tiles != nullptr ? tiles : simd_tables_for(Isa::avx512, ProductMode::bf16);
}

}  // namespace

TEST_CASE("products of lower precision round their factors to bfloat16 and sum in float32") {
  const SimdTables* lower = each_lower_kernels();
  if (lower == nullptr) return;
  for (const Index m : {16, 23, 37, 150}) {
    for (const Index n : {16, 31, 33, 65}) {
      for (const Index k : {16, 17, 33, 600}) {
        for (const int transposed : {0, 1, 2, 3}) {
          CAPTURE(m, n, k, transposed);
          const Product t(m, n, k, transposed % 2 != 0, transposed / 2 != 0);
          check(t, t.run(1, *lower));
        }
      }
    }
  }
}

TEST_CASE("results of one block of terms are rounded while they are stored") {
  const SimdTables* lower = each_lower_kernels();
  if (lower == nullptr) return;
  for (const auto& [m, n, k] : {std::tuple<Index, Index, Index>{16, 16, 16},
                                {23, 33, 17},
                                {150, 70, 65},
                                {40, 600, 250},
                                {301, 200, 256}}) {
    for (const int form : {0, 1, 2, 3}) {
      CAPTURE(m, n, k, form);
      Product t(m, n, k, false, false);
      std::vector<float> bias(static_cast<std::size_t>(std::max(m, n)), 0.25F);
      const std::vector<float> addend = t.c;
      if (form == 1) t.options.col_bias = bias.data();
      if (form == 2) t.options.row_bias = bias.data();
      if (form > 0) t.options.activation = Activation::relu;
      if (form == 3) {
        t.options.beta = 1;
        t.options.addend = addend.data();
      }
      REQUIRE(GemmPrimitive<float>::rounds_result(t.shape, *lower));
      std::vector<bfloat16> wanted;
      for (const float value : t.run(1, *lower)) wanted.push_back(to_bfloat16(value));
      t.shape.c_stored = Storage::bf16;
      for (const int threads : {1, 3}) {
        ThreadPool pool(threads);
        Scratch scratch(gemm_workspace<float>(t.shape, 1, threads, *lower));
        std::vector<bfloat16> result;
        for (const float value : t.c) result.push_back(to_bfloat16(value));
        gemm(pool, t.shape, t.a.data(), t.b.data(), result.data(), t.options, scratch, *lower);
        CHECK(scratch.intact());
        CHECK(std::ranges::equal(result, wanted, {}, &bfloat16::bits, &bfloat16::bits));
      }
    }
  }
  CHECK(!GemmPrimitive<float>::rounds_result({20, 40, 5000}, *lower));
  if (!rounds_products(*lower)) return;
  CHECK(!GemmPrimitive<float>::rounds_result({8, 40, 64}, *lower));
  CHECK(!GemmPrimitive<float>::rounds_result({40, 40, 64}, without(*lower, ProductMode::bf16)));
}

TEST_CASE("factors stored in bfloat16 give the bits of those that are rounded while being packed") {
  const SimdTables* lower = each_lower_kernels();
  if (lower == nullptr) return;
  // The first count elements: just as long as it has to be, so that reading beyond it shows.
  const auto narrow = [](const std::vector<float>& wide, Index count) {
    std::vector<bfloat16> elements(static_cast<std::size_t>(count));
    std::transform(wide.begin(), wide.begin() + count, elements.begin(), to_bfloat16);
    return elements;
  };
  for (const auto& [m, n, k, lda] : {std::tuple<Index, Index, Index, Index>{16, 16, 16, 0},
                                     {23, 33, 17, 0},
                                     {150, 70, 65, 0},
                                     {150, 70, 64, 64},
                                     {40, 600, 33, 0},
                                     {40, 600, 62, 64},
                                     {40, 600, 64, 2048},
                                     {40, 600, 64, 67},
                                     {301, 200, 1030, 1030},
                                     {20, 31, 1030, 0}}) {
    for (const int transposed : {0, 1, 2, 3}) {
      CAPTURE(m, n, k, lda, transposed);
      const bool trans_a = transposed % 2 != 0;
      const Product wide(m, n, k, trans_a, transposed / 2 != 0, trans_a ? 0 : lda);
      const auto wanted = wide.run(1, *lower);
      const GemmShape& s = wide.shape;
      const auto a = narrow(wide.a, s.trans_a ? (k - 1) * s.lda + m : (m - 1) * s.lda + k);
      const auto b = narrow(wide.b, s.trans_b ? (n - 1) * s.ldb + k : (k - 1) * s.ldb + n);
      for (const int which : {1, 2, 3}) {
        Product t = wide;
        CAPTURE(which);
        Elements<const float> left = t.a.data(), right = t.b.data();
        if (which % 2 != 0) left = a.data();
        if (which / 2 != 0) right = b.data();
        t.shape.a_stored = left.storage();
        t.shape.b_stored = right.storage();
        for (const int threads : {1, 3}) {
          ThreadPool pool(threads);
          Scratch scratch(gemm_workspace<float>(t.shape, 1, threads, *lower));
          auto result = t.c;
          gemm(pool, t.shape, left, right, result.data(), t.options, scratch, *lower);
          CHECK(scratch.intact());
          CHECK(result == wanted);

          std::vector<float> packed(static_cast<std::size_t>(packed_elements<float>(n, k, *lower)));
          pack(pool, t.shape, right, packed.data(), *lower);
          Scratch rows(packed_gemm_scratch<float>(t.shape, *lower));
          result = t.c;
          packed_gemm(t.shape, left, packed.data(), result.data(), t.options, Workspace(rows).data,
                      *lower);
          CHECK(rows.intact());
          CHECK(result == wanted);
        }
      }
    }
  }
}

TEST_CASE("products of lower precision have more than one block in every direction") {
  const SimdTables* lower = each_lower_kernels();
  if (lower == nullptr) return;
  for (const int transposed : {0, 1, 2, 3}) {
    const Product t(301, 1100, 1029, transposed % 2 != 0, transposed / 2 != 0);
    const auto result = t.run(1, *lower);
    check(t, result);
    CHECK(t.run(3, *lower) == result);
  }
}

TEST_CASE("what is added to comes first in every block, whether rows of C are near or far apart") {
  const SimdTables* lower = each_lower_kernels();
  if (lower == nullptr) return;
  for (const Index ldc : {520, 523, 16384}) {
    for (const int transposed : {0, 1, 2, 3}) {
      CAPTURE(ldc, transposed);
      Product t(70, 520, 900, transposed % 2 != 0, transposed / 2 != 0);
      Numbers numbers(static_cast<std::uint64_t>(ldc));
      t.shape.ldc = ldc;
      t.c = numbers.row<float>(70 * ldc);
      const auto columns = numbers.row<float>(520);
      const auto addend = numbers.row<float>(70 * ldc);
      for (const GemmOptions<float>& options :
           {GemmOptions<float>{},
            {.beta = 1},
            {.beta = 1, .addend = addend.data()},
            {.beta = 1, .col_bias = columns.data(), .addend = addend.data()},
            {.beta = 0.5F, .activation = Activation::relu, .addend = addend.data()}}) {
        t.options = options;
        const auto result = t.run(1, *lower);
        check(t, result);
        CHECK(t.run(3, *lower) == result);
      }
    }
  }
}

TEST_CASE("a factor rounded once for all tiles gives the bits of one that each tile rounds") {
  const SimdTables* lower = each_lower_kernels();
  if (lower == nullptr) return;
  for (const Index k : {64, 97, 1037}) {
    CAPTURE(k);
    const Product by_rows(70, 700, k, false, true);
    Product by_columns(70, 700, k, true, true);
    by_columns.b = by_rows.b;
    by_columns.c = by_rows.c;
    for (Index i = 0; i < 70; ++i) {
      for (Index p = 0; p < k; ++p) {
        by_columns.a[static_cast<std::size_t>(p * by_columns.shape.lda + i)] =
            by_rows.a[static_cast<std::size_t>(i * by_rows.shape.lda + p)];
      }
    }
    const auto want = by_columns.run(1, *lower);
    check(by_columns, want);
    CHECK(by_rows.run(1, *lower) == want);
    CHECK(by_rows.run(4, *lower) == want);
  }
}

TEST_CASE("a factor rounded in parts gives the bits of one that each tile rounds") {
  const SimdTables* lower = each_lower_kernels();
  if (lower == nullptr) return;
  const Index m = 2100, n = 513, k = 2055;
  Numbers numbers(11);
  const auto a = numbers.row<float>(m * k);
  const auto b = numbers.row<float>(k * n);
  const auto bias = numbers.row<float>(n);
  const auto run = [&](Index rows, Index first, Index cols) {
    std::vector<float> c(static_cast<std::size_t>(rows * cols), 0.5F);
    const GemmShape shape{.m = rows, .n = cols, .k = k, .ldb = n};
    ThreadPool pool(2);
    const GemmPrimitive<float> gemm(shape, 1, 2, *lower);
    Scratch scratch(gemm.workspace());
    gemm.run(pool, {}, a.data() + first * k, b.data(), c.data(),
             {.beta = 1, .col_bias = bias.data(), .activation = Activation::relu}, scratch);
    CHECK(scratch.intact());
    return c;
  };
  const auto whole = run(m, 0, n);
  for (const Index first : {Index{0}, m - 40}) {
    const auto some = run(40, first, 48);
    for (Index i = 0; i < 40; ++i) {
      for (Index j = 0; j < 48; ++j) {
        REQUIRE(whole[static_cast<std::size_t>((first + i) * n + j)] ==
                some[static_cast<std::size_t>(i * 48 + j)]);
      }
    }
  }
}

TEST_CASE("products of lower precision scale, add and activate as others do") {
  const SimdTables* lower = each_lower_kernels();
  if (lower == nullptr) return;
  Numbers numbers(5);
  const auto columns = numbers.row<float>(70);
  const auto rows = numbers.row<float>(45);
  for (const Index k : {40, 1100}) {
    Product t(45, 70, k, false, false);
    t.options = {.alpha = 0.5F, .beta = -2};
    check(t, t.run(2, *lower));
    t.options = {.col_bias = columns.data(), .activation = Activation::relu};
    check(t, t.run(2, *lower));
    t.options = {.beta = 1, .row_bias = rows.data()};
    check(t, t.run(2, *lower));
    t.options = {.alpha = 0, .beta = 3};
    check(t, t.run(1, *lower));
  }
}

TEST_CASE("a factor packed once gives the same product in lower precision") {
  const SimdTables* lower = each_lower_kernels();
  if (lower == nullptr) return;
  for (const Index k : {20, 515}) {
    for (const Index m : {1, 5, 40}) {
      for (const bool transposed : {false, true}) {
        CAPTURE(k, m, transposed);
        const Product t(m, 75, k, false, transposed);
        std::vector<float> packed(static_cast<std::size_t>(packed_elements<float>(75, k, *lower)));
        pack(t.shape, t.b.data(), packed.data(), *lower);
        Scratch scratch(packed_gemm_scratch<float>(t.shape, *lower));
        auto result = t.c;
        packed_gemm(t.shape, t.a.data(), packed.data(), result.data(), t.options,
                    Workspace(scratch).data, *lower);
        CHECK(scratch.intact());
        check(t, result);
      }
    }
  }
}

TEST_CASE("small products and those in double keep their precision") {
  const SimdTables* lower = lower_kernels();
  if (lower == nullptr) return;
  const SimdTables& full = *simd_tables_for(lower->isa);
  CHECK(&without(*lower, ProductMode::bf16) == &full);
  CHECK(&without(full, ProductMode::bf16) == &full);
  for (const auto& [m, n, k] : {std::tuple{15, 64, 64}, {64, 15, 64}, {64, 64, 15}}) {
    const Product t(m, n, k, false, false);
    CHECK(t.run(1, *lower) == t.run(1, full));
    CHECK(GemmPrimitive<float>(t.shape, 1, 1, *lower).isa() == "avx512");
  }
  const GemmShape large{64, 64, 64};
  CHECK(GemmPrimitive<float>(large, 1, 1, *lower).isa() == lower->name);
  CHECK(GemmPrimitive<float>(large, 1, 1, *lower).name() == "blocked_bf16");
  CHECK(GemmPrimitive<double>(large, 1, 1, *lower).isa() == "avx512");
}

TEST_CASE("products of lower precision pass on NaN and infinities") {
  const SimdTables* lower = each_lower_kernels();
  if (lower == nullptr) return;
  Product t(20, 40, 33, false, false);
  t.a[0] = NAN;
  t.a[static_cast<std::size_t>(t.shape.lda)] = INFINITY;
  const auto result = t.run(1, *lower);
  for (std::size_t j = 0; j < 40; ++j) {
    CHECK(std::isnan(result[j]));
    CHECK(std::isinf(result[static_cast<std::size_t>(t.shape.ldc) + j]));
    CHECK(std::isfinite(result[2 * static_cast<std::size_t>(t.shape.ldc) + j]));
  }
}

TEST_CASE("without the instructions a lower precision is that of float32") {
  const SimdTables& full = simd_tables();
  const SimdTables& lower = simd_tables(Precision::bfloat16);
  CHECK(&simd_tables(Precision::float32) == &full);
  const bool has = full.isa >= Isa::avx512 && lower_kernels() != nullptr;
  CHECK(&lower == (has ? lower_kernels() : &full));
}
