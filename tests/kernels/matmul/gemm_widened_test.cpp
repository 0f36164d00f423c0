// Products of few rows with a B of bfloat16, which is read where it lies.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/float_formats.h"
#include "kernels/matmul/gemm_primitive.h"
#include "kernels/simd/tables.h"
#include "tests/kernels/common/math_test.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using Index = std::int64_t;
using Gemm = GemmPrimitive<float>;

struct Product {
  Product(Index m, Index n, Index k, bool trans_b)
      : shape{.m = m, .n = n, .k = k, .trans_b = trans_b} {
    Numbers numbers(static_cast<std::uint64_t>(n * 31 + k));
    for (const float x : numbers.row<float>(n * k)) {
      stored.push_back(to_bfloat16(x));
      widened.push_back(to_float(stored.back()));
    }
    col_bias = numbers.row<float>(n);
    a = numbers.row<float>(m * k);
  }

  std::vector<float> run(const SimdTables& kernels, int threads, bool as_stored,
                         GemmOptions<float> options = {}) const {
    GemmShape s = shape;
    Elements<const float> b = widened.data();
    if (as_stored) b = stored.data();
    s.b_stored = b.storage();
    const Gemm gemm(s, 1, threads, kernels);
    ThreadPool pool(threads);
    Scratch scratch(gemm.workspace());
    std::vector<float> c(static_cast<std::size_t>(s.m * s.n), 0.5F);
    gemm.run(pool, {}, a.data(), b, c.data(), options, Workspace(scratch));
    CHECK(scratch.intact());
    return c;
  }

  GemmShape shape;
  std::vector<bfloat16> stored;
  std::vector<float> widened, a, col_bias;
};

std::vector<const SimdTables*> full_and_lower_kernels() {
  std::vector<const SimdTables*> sets = all_kernels();
  for (const Isa isa : {Isa::avx512, Isa::amx}) {
    if (const auto* lower = simd_tables_for(isa, ProductMode::bf16)) sets.push_back(lower);
  }
  return sets;
}

double worst_difference(const std::vector<float>& x, const std::vector<float>& y) {
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    worst = std::max(worst, std::abs(double{x[i]} - double{y[i]}));
  }
  return worst;
}

}  // namespace

TEST_CASE("a B of bfloat16 gives the product of the numbers that it stands for") {
  for (const SimdTables* kernels : full_and_lower_kernels()) {
    INFO(isa_name(*kernels));
    for (const bool trans_b : {false, true}) {
      for (const Index m : {1, 2, 3, 4, 5, 8, 13, 15}) {
        for (const Index n : {1, 16, 50, 300}) {
          for (const Index k : {1, 16, 77, 400}) {
            const Product t(m, n, k, trans_b);
            CAPTURE(trans_b, m, n, k);
            if (!Gemm::widens_b(t.shape, *kernels)) {
              CHECK((n == 1 && m > 1));
              continue;
            }
            GemmOptions<float> options{
                .alpha = 0.5F, .beta = 2, .col_bias = t.col_bias.data(), .activation = {}};
            for (const Activation activation : {Activation::none, Activation::relu}) {
              options.activation = activation;
              const auto wanted = t.run(*kernels, 1, false, options);
              const auto result = t.run(*kernels, 1, true, options);
              CHECK(worst_difference(result, wanted) < 1e-6 * (2 + static_cast<double>(k)));
              CHECK(t.run(*kernels, 3, true, options) == result);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("a row by a B of bfloat16 has the same bits with any rows beside it") {
  for (const SimdTables* kernels : full_and_lower_kernels()) {
    INFO(isa_name(*kernels));
    for (const bool trans_b : {false, true}) {
      Product t(15, 200, 300, trans_b);
      const auto all = t.run(*kernels, 2, true);
      for (const Index m : {1, 2, 3, 5, 14}) {
        t.shape.m = m;
        const auto some = t.run(*kernels, 1, true);
        CHECK(std::equal(some.begin(), some.end(), all.begin()));
      }
    }
  }
}

TEST_CASE("products of more rows, and those with another layout of A, take no such B") {
  const SimdTables& kernels = math::simd_tables();
  CHECK(Gemm::widens_b({.m = 15, .n = 64, .k = 64}, kernels));
  CHECK_FALSE(Gemm::widens_b({.m = 16, .n = 64, .k = 64}, kernels));
  CHECK(Gemm::widens_b({.m = 4, .n = 64, .k = 64, .trans_a = true}, kernels));
  CHECK_FALSE(
      Gemm::widens_b({.m = 4, .n = 64, .k = 64, .trans_a = true, .trans_b = true}, kernels));
  CHECK_FALSE(GemmPrimitive<double>::widens_b({.m = 4, .n = 64, .k = 64}, kernels));
}
