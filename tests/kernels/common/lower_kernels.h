// Kernels whose products round their factors to bfloat16, or split them.
#pragma once

#include <string>

#include "kernels/simd/tables.h"
#include "tests/kernels/common/math_test.h"

// Kernels without the instructions, in the build of the tests only.
namespace ondine::math::bf16_reference {
extern const GemmKernels<float> gemm_f32;
extern const GemmKernels<float> tile_gemm_f32;
extern const GemmKernels<float> split_gemm_f32;
extern const AttentionRowKernels attention_rows;
extern const ShiftedConvKernels shifted_conv;
}  // namespace ondine::math::bf16_reference

namespace ondine::math::test {

inline SimdTables with_products(const char* name, const GemmKernels<float>& gemm) {
  SimdTables kernels = *simd_tables_for(Isa::baseline);
  kernels.name = name;
  kernels.f32.gemm = &gemm;
  kernels.attention_rows = &bf16_reference::attention_rows;
  return kernels;
}

// Runs the rest of the test for tiles without their instructions, and for those of the processor;
// null if the processor has no tiles.
inline const SimdTables* each_tile_kernels() {
  static const SimdTables tiles = [] {
    SimdTables kernels = with_products("tiles", bf16_reference::tile_gemm_f32);
    kernels.shifted_conv = &bf16_reference::shifted_conv;
    return kernels;
  }();
  return GENERATE_COPY(values({&tiles, simd_tables_for(Isa::amx, ProductMode::bf16)}));
}

// Runs the rest of the test for the instructions that the processor has, and for both kinds of
// products without them; null if the processor lacks the instructions.
inline const SimdTables* each_lower_kernels() {
  static const SimdTables vectors = with_products("vectors", bf16_reference::gemm_f32);
  static const SimdTables tiles = with_products("tiles", bf16_reference::tile_gemm_f32);
  const SimdTables* const lower =
      GENERATE_COPY(values({&vectors, &tiles, simd_tables_for(Isa::avx512, ProductMode::bf16),
                            simd_tables_for(Isa::amx, ProductMode::bf16)}));
  UNSCOPED_INFO(std::string("products by ") + (lower != nullptr ? lower->name : "nothing"));
  return lower;
}

// Copy of the kernels for primitives that ask whether products round their factors.
inline SimdTables as_rounding(SimdTables kernels) {
  kernels.products = ProductMode::bf16;
  return kernels;
}

}  // namespace ondine::math::test
