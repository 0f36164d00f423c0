// Products of float32 in tiles: with factors split into three bfloat16.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/matmul/gemm_call.h"
#include "kernels/matmul/gemm_primitive.h"
#include "kernels/simd/tables.h"
#include "tests/kernels/common/lower_kernels.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using Index = std::int64_t;
using Values = std::vector<float>;

// Runs the rest of the test for tiles without their instructions, and for those of the processor;
// null if the processor has none.
const GemmKernels<float>* each_split_gemm() {
  const SimdTables* const tiles = simd_tables_for(Isa::amx);
  return GENERATE_COPY(
      values({&bf16_reference::split_gemm_f32, tiles ? tiles->f32.gemm : nullptr}));
}

enum class Layout { rows, columns, packed };

// A product whose matrices have unused elements after their rows.
struct Product {
  Index m, n, k;
  Layout a_layout = Layout::rows, b_layout = Layout::rows;
  Values a, b, c;  // dense, by rows

  Product(Index m_, Index n_, Index k_) : m(m_), n(n_), k(k_) {
    Numbers numbers(static_cast<std::uint64_t>(m * 7919 + n * 31 + k));
    a = numbers.row<float>(m * k);
    b = numbers.row<float>(k * n);
    c = numbers.row<float>(m * n);
  }

  // Product, written to a C that is `c` before; the tiles compute it whatever its size.
  Values run(const GemmKernels<float>& gemm, const GemmOptions<float>& options = {}) const {
    constexpr Index more = 3;
    const bool turned = a_layout == Layout::columns;
    GemmCall<float> call = call_without_b(GemmShape{.m = m,
                                                    .n = n,
                                                    .k = k,
                                                    .trans_a = turned,
                                                    .lda = (turned ? m : k) + more,
                                                    .ldc = n + more},
                                          options);
    call.splits = true;
    const Values a_stored = stored(a, m, k, a_layout, more);
    call.a = a_stored.data();
    Values b_stored;
    if (b_layout == Layout::packed) {
      b_stored.resize(static_cast<std::size_t>((n + gemm.nr) * k + 64));
      call.b = b.data();
      call.b_row = n;
      call.b_col = 1;
      gemm.pack_b(call, b_stored.data());
      call.b_packed = true;
    } else {
      b_stored = stored(b, k, n, b_layout, more);
      call.b_row = b_layout == Layout::rows ? n + more : 1;
      call.b_col = b_layout == Layout::rows ? 1 : k + more;
    }
    call.b = b_stored.data();
    Values result = stored(c, m, n, Layout::rows, more);
    call.c = result.data();
    Scratch scratch(static_cast<std::size_t>(gemm.scratch_bytes(call)));
    gemm.run(call, Workspace(scratch).data);
    CHECK(scratch.intact());
    Values dense;
    for (Index i = 0; i < m; ++i) {
      const auto row = result.begin() + i * call.ldc;
      dense.insert(dense.end(), row, row + n);
      CHECK(std::all_of(row + n, row + call.ldc, [](float x) { return x == unused; }));
    }
    return dense;
  }

  static Values stored(const Values& dense, Index rows, Index cols, Layout layout, Index more) {
    const bool by_rows = layout == Layout::rows;
    const Index ld = (by_rows ? cols : rows) + more;
    Values result(static_cast<std::size_t>((by_rows ? rows : cols) * ld), unused);
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < cols; ++j) {
        result[static_cast<std::size_t>(by_rows ? i * ld + j : j * ld + i)] =
            dense[static_cast<std::size_t>(i * cols + j)];
      }
    }
    return result;
  }
  static constexpr float unused = 77;

  float& a_at(Index i, Index p) { return a[static_cast<std::size_t>(i * k + p)]; }
  float& b_at(Index p, Index j) { return b[static_cast<std::size_t>(p * n + j)]; }

  // The largest error relative to the sum of the absolute values of the products.
  double worst(const Values& result) const {
    double worst = 0;
    for (Index i = 0; i < m; ++i) {
      for (Index j = 0; j < n; ++j) {
        double sum = 0;
        double size = 0;
        for (Index p = 0; p < k; ++p) {
          const double product = double{a[static_cast<std::size_t>(i * k + p)]} *
                                 double{b[static_cast<std::size_t>(p * n + j)]};
          sum += product;
          size += std::abs(product);
        }
        const double error = std::abs(double{result[static_cast<std::size_t>(i * n + j)]} - sum);
        worst = std::max(worst, size > 0 ? error / size : error);
      }
    }
    return worst;
  }
};

constexpr Layout layouts_of_a[] = {Layout::rows, Layout::columns};
constexpr Layout layouts_of_b[] = {Layout::rows, Layout::columns, Layout::packed};

}  // namespace

TEST_CASE("products with split factors have the precision of float32") {
  const auto* const gemm = each_split_gemm();
  if (gemm == nullptr) return;
  // Tiles and panels with few rows, columns and terms, blocks of all of them and more.
  const Index sizes[][3] = {{1, 1, 1},     {5, 33, 17},   {16, 16, 32},  {17, 40, 31},
                            {32, 64, 96},  {33, 31, 65},  {47, 300, 70}, {130, 50, 100},
                            {270, 36, 40}, {20, 530, 33}, {40, 70, 800}};
  for (const auto& [m, n, k] : sizes) {
    for (const Layout a : layouts_of_a) {
      for (const Layout b : layouts_of_b) {
        CAPTURE(m, n, k, static_cast<int>(a), static_cast<int>(b));
        Product t(m, n, k);
        t.a_layout = a;
        t.b_layout = b;
        CHECK(t.worst(t.run(*gemm)) < 0x1p-22);
      }
    }
  }
}

TEST_CASE("the three parts of a factor are all of it, whatever its size") {
  const auto* const gemm = each_split_gemm();
  if (gemm == nullptr) return;
  // One term: no sum rounds.
  Product t(40, 40, 1);
  int power = -50;
  for (float& x : t.a) x = std::ldexp(x, power = power == 60 ? -50 : power + 1);
  for (float& x : t.b) x = std::ldexp(x, power = power == 60 ? -50 : power + 1);
  CHECK(t.worst(t.run(*gemm)) <= 0x1p-23);
  // Products of few digits are exact.
  for (float& x : t.a) x = std::ldexp(std::round(std::ldexp(std::frexp(x, &power), 12)), power);
  for (float& x : t.b) x = std::ldexp(std::round(std::ldexp(std::frexp(x, &power), 12)), power);
  CHECK(t.worst(t.run(*gemm)) == 0);
}

TEST_CASE("elements of a product with split factors do not depend on what surrounds them") {
  const auto* const gemm = each_split_gemm();
  if (gemm == nullptr) return;
  const Product whole(150, 300, 420);
  const Values wanted = whole.run(*gemm);
  for (const auto& [first, m] : {std::pair<Index, Index>{0, 7}, {3, 33}, {40, 110}}) {
    for (const auto& [from, n] : {std::pair<Index, Index>{0, 18}, {5, 70}, {31, 269}}) {
      CAPTURE(first, m, from, n);
      Product part(m, n, whole.k);
      part.a.assign(whole.a.begin() + first * whole.k, whole.a.begin() + (first + m) * whole.k);
      bool same = true;
      for (Index p = 0; p < whole.k; ++p) {
        for (Index j = 0; j < n; ++j) {
          part.b_at(p, j) = whole.b[static_cast<std::size_t>(p * whole.n + from + j)];
        }
      }
      const Values got = part.run(*gemm);
      for (Index i = 0; i < m; ++i) {
        same &= std::equal(got.begin() + i * n, got.begin() + (i + 1) * n,
                           wanted.begin() + (first + i) * whole.n + from);
      }
      CHECK(same);
    }
  }
}

TEST_CASE("infinite and NaN factors give what they do in float32") {
  const auto* const gemm = each_split_gemm();
  if (gemm == nullptr) return;
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float most = std::numeric_limits<float>::max();
  for (const Layout a : layouts_of_a) {
    for (const Layout b : layouts_of_b) {
      CAPTURE(static_cast<int>(a), static_cast<int>(b));
      Product t(70, 40, 410);
      t.a_layout = a;
      t.b_layout = b;
      const Values before = t.run(*gemm);
      // Whose parts are one element and two zeros, on both sides.
      for (Index j = 0; j < 40; ++j) t.b_at(400, j) = j % 2 == 0 ? 1.0F : -0.5F;
      const Values finite = t.run(*gemm);
      t.a_at(3, 400) = inf;
      t.a_at(35, 400) = NAN;
      t.a_at(36, 400) = std::bit_cast<float>(0x7fffffffU);
      t.a_at(64, 400) = most;  // rounded to bfloat16 it is infinite
      const Values got = t.run(*gemm);
      for (Index i = 0; i < 70; ++i) {
        for (Index j = 0; j < 40; ++j) {
          const auto at = static_cast<std::size_t>(i * 40 + j);
          CAPTURE(i, j);
          if (i == 3) {
            CHECK(got[at] == (j % 2 == 0 ? inf : -inf));
          } else if (i == 35 || i == 36) {
            CHECK(std::isnan(got[at]));
          } else if (i == 64) {
            CHECK(got[at] == most * (j % 2 == 0 ? 1.0F : -0.5F));
          } else {
            CHECK(got[at] == finite[at]);
          }
        }
      }
      // The other way around, in a block of terms before the last.
      t.a_at(3, 400) = t.a_at(35, 400) = t.a_at(36, 400) = t.a_at(64, 400) = 0;
      t.b_at(9, 39) = inf;
      for (Index i = 0; i < 70; ++i) t.a_at(i, 9) = 2;
      const Values columns = t.run(*gemm);
      for (Index i = 0; i < 70; ++i) {
        CHECK(columns[static_cast<std::size_t>(i * 40 + 39)] == inf);
        CHECK(std::isfinite(columns[static_cast<std::size_t>(i * 40 + 38)]));
      }
    }
  }
}

TEST_CASE("sums with split factors that overflow are infinite") {
  const auto* const gemm = each_split_gemm();
  if (gemm == nullptr) return;
  Product t(40, 40, 40);
  std::fill(t.a.begin(), t.a.end(), 1e30F);
  std::fill(t.b.begin(), t.b.end(), -1e30F);
  for (const float x : t.run(*gemm)) CHECK(x == -std::numeric_limits<float>::infinity());
}

TEST_CASE("products with split factors take scales, addends, biases and activations") {
  const auto* const gemm = each_split_gemm();
  if (gemm == nullptr) return;
  for (const Index k : {40, 500}) {
    const Product t(45, 70, k);
    Numbers numbers(5);
    const Values col_bias = numbers.row<float>(t.n);
    const Values row_bias = numbers.row<float>(t.m);
    const Values product = t.run(*gemm);
    for (const float beta : {0.0F, 1.0F, -2.0F}) {
      for (const Activation activation : {Activation::none, Activation::relu, Activation::relu6}) {
        CAPTURE(k, beta, static_cast<int>(activation));
        const Values got = t.run(*gemm, {.alpha = 3,
                                         .beta = beta,
                                         .col_bias = col_bias.data(),
                                         .row_bias = row_bias.data(),
                                         .activation = activation});
        double worst = 0;
        for (Index i = 0; i < t.m; ++i) {
          for (Index j = 0; j < t.n; ++j) {
            const auto at = static_cast<std::size_t>(i * t.n + j);
            double wanted = 3.0 * double{product[at]} + double{beta} * double{t.c[at]} +
                            double{col_bias[static_cast<std::size_t>(j)]} +
                            double{row_bias[static_cast<std::size_t>(i)]};
            if (activation != Activation::none) wanted = std::max(wanted, 0.0);
            if (activation == Activation::relu6) wanted = std::min(wanted, 6.0);
            worst = std::max(worst, std::abs(wanted - double{got[at]}));
          }
        }
        CHECK(worst < 1e-4);
      }
    }
    CHECK(same_bits(t.run(*gemm, {.alpha = 0, .beta = 1}), t.c));
  }
}

TEST_CASE("only products that are large in all dimensions split their factors") {
  const SimdTables* const tiles = simd_tables_for(Isa::amx);
  if (tiles == nullptr) return;
  const auto isa = [&](const GemmShape& shape) {
    return GemmPrimitive<float>(shape, 1, 1, *tiles).isa();
  };
  CHECK(isa({128, 128, 128}) == "amx");
  CHECK(isa({64, 512, 256, true, true}) == "amx");
  CHECK(isa({512, 32, 512}) == "avx512");
  CHECK(isa({32, 512, 512}) == "avx512");
  CHECK(isa({512, 512, 63}) == "avx512");
  // A part decides like the whole.
  CHECK(isa({.m = 40, .n = 128, .k = 128, .whole_m = 400}) == "amx");
  CHECK(isa({.m = 400, .n = 20, .k = 128, .whole_n = 400}) == "amx");
  CHECK(GemmPrimitive<double>({128, 128, 128}, 1, 1, *tiles).isa() == "avx512");
  CHECK(&without(*tiles, ProductMode::split) == simd_tables_for(Isa::avx512));
}
