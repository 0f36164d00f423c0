// How a product is cut and packed, told without computing one.
#include <string>

#include "kernels/matmul/gemm_primitive.h"
#include "kernels/simd/tables.h"
#include "tests/kernels/common/lower_kernels.h"
#include "tests/kernels/common/math_test.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using Index = std::int64_t;

}  // namespace

TEMPLATE_TEST_CASE("a product is named after how its tiles are computed", "", float, double) {
  const auto name = [](const GemmShape& shape) {
    return std::string(GemmPrimitive<TestType>(shape, 1, 2).name());
  };
  CHECK(name({.m = 3, .n = 100, .k = 50}) == "few_rows");
  CHECK(name({.m = 100, .n = 1, .k = 50, .trans_a = true}) == "few_rows");
  CHECK(name({.m = 4, .n = 100, .k = 50}) == "blocked");
  CHECK(name({.m = 4, .n = 100, .k = 50, .trans_b = true}) == "dots");
  CHECK(name({.m = 100, .n = 1, .k = 50}) == "dots");
  CHECK(name({.m = 5, .n = 100, .k = 50, .trans_b = true}) == "blocked");
  CHECK(name({.m = 4, .n = 100, .k = 0}) == "no_product");
  CHECK(GemmPrimitive<TestType>({.m = 0, .n = 100, .k = 5}, 1, 2).workspace() == 0);
}

TEST_CASE("a large factor by columns is packed, unless its rows are short or few columns read it") {
  const auto packs = [](const SimdTables& kernels, Index m, Index n, Index k) {
    GemmCall<float> call{};
    call.m = m;
    call.n = n;
    call.k = k;
    call.a_row = 1;
    call.a_col = m;
    call.b_row = n;
    call.b_col = 1;
    call.ldc = n;
    return tables_of<float>(kernels).gemm->blocking(call).pack_a;
  };
  for (const auto* kernels : all_kernels()) {
    INFO(isa_name(*kernels));
    CHECK(packs(*kernels, 512, 40, 1600));
    CHECK_FALSE(packs(*kernels, 512, 2, 1600));
    CHECK_FALSE(packs(*kernels, 32, 16, 25600));
    CHECK_FALSE(packs(*kernels, 64, 16, 64));
  }
}

TEST_CASE("blocks of a large factor that few rows along k multiply are long where vectors are") {
  const auto terms = [](const SimdTables& kernels, Index m, Index n, Index k, bool trans_b) {
    return GemmPrimitive<float>({.m = m, .n = n, .k = k, .trans_b = trans_b}, 1, 2, kernels)
        .block_k();
  };
  for (const auto* kernels : vector_kernels()) {
    INFO(isa_name(*kernels));
    const bool is_long = kernels->isa == Isa::avx512;
    CHECK(terms(*kernels, 96, 16, 12544, true) == (is_long ? 1792 : 256));
    CHECK(terms(*kernels, 96, 16, 2048, true) == 256);
    CHECK(terms(*kernels, 96, 80, 12544, true) == 256);
    CHECK(terms(*kernels, 96, 16, 12544, false) == 256);
  }
}

TEST_CASE("a factor is rounded once, up to 8 MB at a time, where more than 512 columns read it") {
  const SimdTables* lower = each_lower_kernels();
  if (lower == nullptr) return;
  // Rows of 129 cache lines: 1016 of them are the last that fit.
  constexpr Index k = 4096;
  constexpr std::size_t row = 129 * 64;
  const auto workspace = [&](Index m, Index n, Index batch = 1, bool trans_a = false) {
    return GemmPrimitive<float>({m, n, k, trans_a}, batch, 1, *lower).workspace();
  };
  constexpr std::size_t rounded = 1016 * row;
  CHECK(workspace(1016, 513) > rounded);
  for (const Index m : {1017, 4000, 5000}) {
    CAPTURE(m);
    CHECK(workspace(m, 513) > rounded / 2);
    CHECK(workspace(m, 513) < rounded / 4 * 5);
  }
  CHECK(workspace(Index{1} << 20, 513) < rounded / 4);  // less than a block of terms
  CHECK(workspace(1016, 512) < rounded / 4);
  CHECK(workspace(1016, 513, 2) < rounded / 4);
  CHECK(workspace(1016, 513, 1, true) < rounded / 4);
}
