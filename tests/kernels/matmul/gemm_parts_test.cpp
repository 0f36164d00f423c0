// Products cut along k: whole blocks of terms, one part added to the other.
#include <algorithm>

#include "kernels/matmul/gemm_primitive.h"
#include "kernels/simd/tables.h"
#include "tests/kernels/common/math_test.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

std::vector<const SimdTables*> kernels_of_all_precisions() {
  std::vector<const SimdTables*> all = all_kernels();
  for (const Isa isa : {Isa::avx512, Isa::amx}) {
    if (const SimdTables* kernels = simd_tables_for(isa, ProductMode::bf16)) all.push_back(kernels);
  }
  return all;
}

template <class T>
void run(const GemmShape& shape, const T* a, const T* b, std::vector<T>& c,
         const GemmOptions<T>& options, const SimdTables& kernels) {
  ThreadPool pool(2);
  const GemmPrimitive<T> gemm(shape, 1, 2, kernels);
  Scratch scratch(gemm.workspace());
  gemm.run(pool, {}, a, b, c.data(), options, scratch);
  CHECK(scratch.intact());
}

// `blocks` of every part but the last.
template <class T>
void check_parts(const GemmShape& whole, std::int64_t blocks, const SimdTables& kernels) {
  CAPTURE(kernels.name, whole.m, whole.n, whole.k, whole.trans_a, whole.trans_b, blocks);
  Numbers numbers(static_cast<std::uint64_t>(whole.k));
  const auto a = numbers.row<T>(whole.m * whole.k);
  const auto b = numbers.row<T>(whole.n * whole.k);
  const auto bias = numbers.row<T>(whole.n);
  const std::vector<T> c(static_cast<std::size_t>(whole.m * whole.n), T{7});
  GemmOptions<T> options{.beta = 1, .col_bias = bias.data(), .activation = Activation::relu};
  auto wanted = c;
  run(whole, a.data(), b.data(), wanted, options, kernels);

  const std::int64_t block_k = GemmPrimitive<T>(whole, 1, 2, kernels).block_k();
  REQUIRE(block_k > 0);
  REQUIRE(block_k * blocks < whole.k);
  auto got = c;
  for (std::int64_t p = 0; p < whole.k; p += block_k * blocks) {
    GemmShape part = whole;
    part.k = std::min(block_k * blocks, whole.k - p);
    part.lda = whole.trans_a ? whole.m : whole.k;
    part.ldb = whole.trans_b ? whole.k : whole.n;
    part.block_k = block_k;
    options.part = {.is_first = p == 0, .is_last = p + part.k == whole.k};
    run(part, a.data() + p * (whole.trans_a ? whole.m : 1),
        b.data() + p * (whole.trans_b ? 1 : whole.n), got, options, kernels);
  }
  CHECK(same_bits(got, wanted));
}

}  // namespace

TEST_CASE("whole blocks of terms, added one after the other, give the bits of the product") {
  for (const auto* kernels : kernels_of_all_precisions()) {
    for (const bool trans_a : {false, true}) {
      for (const bool trans_b : {false, true}) {
        for (const std::int64_t k : {1900, 2100, 3000}) {
          check_parts<float>({150, 75, k, trans_a, trans_b}, 1, *kernels);
          check_parts<float>({21, 130, k, trans_a, trans_b}, 2, *kernels);
          check_parts<double>({21, 130, k, trans_a, trans_b}, 2, *kernels);
        }
      }
    }
  }
}

TEST_CASE("long blocks of terms, added one after the other, give the bits of the product") {
  for (const auto* kernels : kernels_of_all_precisions()) {
    check_parts<float>({150, 40, 5000, false, true}, 1, *kernels);
    check_parts<double>({150, 20, 5000, false, true}, 1, *kernels);
  }
}

TEST_CASE("products of few rows have no blocks of terms") {
  for (const auto* kernels : kernels_of_all_precisions()) {
    CHECK(GemmPrimitive<float>({3, 200, 5000}, 1, 1, *kernels).block_k() == 0);
    CHECK(GemmPrimitive<float>({4, 200, 5000, false, true}, 1, 1, *kernels).block_k() == 0);
    CHECK(GemmPrimitive<float>({4, 200, 5000}, 1, 1, *kernels).block_k() > 0);
    CHECK(GemmPrimitive<float>({0, 200, 5000}, 1, 1, *kernels).block_k() == 0);
  }
}
