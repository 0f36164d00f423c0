// Products of few rows by a factor that is stored by columns, which are computed as C^T.
#include "kernels/matmul/gemm_primitive.h"
#include "kernels/simd/matmul/gemm_table.h"
#include "kernels/simd/tables.h"
#include "tests/kernels/common/math_test.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using Index = std::int64_t;

constexpr Index all_rows = 72;
constexpr Index pad = 3;

template <class T>
struct Product {
  Product(Index columns, Index terms) : n(columns), k(terms) {
    Numbers numbers(static_cast<std::uint64_t>(n + k));
    a = numbers.row<T>(all_rows * (k + pad));
    b = numbers.row<T>(n * (k + pad));
    c = numbers.row<T>(all_rows * (n + pad));
    addend = numbers.row<T>(all_rows * (n + pad));
    col_bias = numbers.row<T>(n);
    row_bias = numbers.row<T>(all_rows);
  }
  GemmShape shape(Index m) const { return {m, n, k, false, true, k + pad, k + pad, n + pad}; }

  // The first m rows; `c` below them.
  std::vector<T> run(Index m, const GemmOptions<T>& options, int threads,
                     const SimdTables& kernels) const {
    std::vector<T> result = c;
    ThreadPool pool(threads);
    const GemmPrimitive<T> gemm(shape(m), 1, threads, kernels);
    const Scratch scratch(gemm.workspace());
    gemm.run(pool, {}, a.data(), b.data(), result.data(), options, scratch);
    CHECK(scratch.intact());
    return result;
  }

  // C with the first m rows of `whole`; the rows below stay `c`.
  std::vector<T> first_rows(Index m, const std::vector<T>& whole) const {
    std::vector<T> result = c;
    std::copy_n(whole.begin(), m * (n + pad), result.begin());
    return result;
  }

  std::vector<GemmOptions<T>> every_option() const {
    std::vector<GemmOptions<T>> all;
    for (const T beta : {T{0}, T{1}, T{-2}}) {
      for (unsigned form = 0; form < 16; ++form) {
        all.push_back({.alpha = (form & 1) != 0 ? T(0.3) : T{1},
                       .beta = beta,
                       .col_bias = (form & 2) != 0 ? col_bias.data() : nullptr,
                       .row_bias = (form & 4) != 0 ? row_bias.data() : nullptr,
                       .activation = (form & 8) != 0 ? Activation::relu : Activation::none,
                       .addend = beta == -2 ? addend.data() : nullptr});
      }
    }
    return all;
  }

  Index n, k;
  std::vector<T> a, b, c, addend, col_bias, row_bias;
};

}  // namespace

TEMPLATE_TEST_CASE("few rows by a transposed factor have the bits of more rows", "", float,
                   double) {
  using T = TestType;
  // Whole blocks of C^T and more, whole vectors and not, one block of terms and several.
  const Index sizes[][2] = {{48, 64}, {144, 96}, {150, 300}, {301, 77}, {64, 1023}, {100, 509}};
  for (const auto& [n, k] : sizes) {
    const Product<T> product(n, k);
    for (const SimdTables* const kernels : vector_kernels()) {
      for (const GemmOptions<T>& options : product.every_option()) {
        const std::vector<T> whole = product.run(all_rows, options, 1, *kernels);
        for (const Index m : {8, 16, 32, 64}) {
          CAPTURE(isa_name(*kernels), m, n, k, options.alpha, options.beta,
                  options.col_bias != nullptr, options.row_bias != nullptr);
          const std::vector<T> expected = product.first_rows(m, whole);
          CHECK(same_bits(product.run(m, options, 1, *kernels), expected));
          CHECK(same_bits(product.run(m, options, 3, *kernels), expected));
        }
      }
    }
  }
}

TEST_CASE(
    "whole panels of up to 32 rows, or two, by a large transposed factor are computed as columns") {
  const SimdTables& kernels = *all_kernels().front();
  const auto name = [&](const GemmShape& shape) {
    return std::string(GemmPrimitive<float>(shape, 1, 1, kernels).name());
  };
  CHECK(name({.m = 32, .n = 300, .k = 100, .trans_b = true}) == "transposed");
  CHECK(name({.m = 32, .n = 48, .k = 64, .trans_b = true}) == "transposed");
  CHECK(name({.m = 32, .n = 47, .k = 64, .trans_b = true}) == "blocked");
  CHECK(name({.m = 32, .n = 48, .k = 63, .trans_b = true}) == "blocked");
  CHECK(name({.m = 31, .n = 300, .k = 100, .trans_b = true}) == "blocked");
  CHECK(name({.m = 48, .n = 300, .k = 100, .trans_b = true}) == "blocked");
  const bool has_wide_panels = kernels.f32.gemm->nr == 32;
  CHECK(name({.m = 64, .n = 300, .k = 100, .trans_b = true}) ==
        (has_wide_panels ? "transposed" : "blocked"));
  CHECK(name({.m = 96, .n = 300, .k = 100, .trans_b = true}) == "blocked");
  CHECK(name({.m = 32, .n = 300, .k = 100}) == "blocked");
  CHECK(name({.m = 32, .n = 300, .k = 100, .trans_a = true, .trans_b = true}) == "blocked");
}
