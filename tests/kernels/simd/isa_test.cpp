#include <cstdlib>
#include <cstring>

#include "kernels/simd/matmul/gemm_table.h"
#include "kernels/simd/tables.h"
#include "tests/kernels/common/math_test.h"

using namespace ondine::math;

TEST_CASE("vectors and blocks are those of the instruction set") {
  for (const SimdTables* kernels : test::all_kernels()) {
    INFO(isa_name(*kernels));
    const SimdTables& k = *kernels;
    std::int64_t bytes = 16;
    if (std::strcmp(isa_name(k), "avx2") == 0) bytes = 32;
    if (k.isa == Isa::avx512 || k.isa == Isa::amx) bytes = 64;
    CHECK(k.f32.gemm->nr == 2 * bytes / 4);
    CHECK(k.f64.gemm->nr == 2 * bytes / 8);
  }
#if defined(__aarch64__)
  CHECK(std::strcmp(isa_name(simd_tables()), "neon") == 0);
#else
  CHECK(std::strcmp(isa_name(*simd_tables_for(Isa::baseline)), "baseline") == 0);
#endif
}
