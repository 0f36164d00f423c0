// The numerics are built for several instruction sets; the best one is chosen when the program
// runs.
#pragma once

#include <cstdint>

#include <ondine/precision.h>

namespace ondine::math {

// Instruction sets of the processor. amx: avx512, and tiles.
enum class Isa : std::uint8_t { baseline, avx2, avx512, amx };

// How products of float32 are computed.
enum class ProductMode : std::uint8_t {
  float32,  // in vectors
  split,    // large ones in tiles, by factors that are split, in the precision of float32
  bf16,     // by factors that are rounded to bfloat16
};

// Tables of the functions of one instruction set, computing products in one mode
// (kernels/simd/tables.h). Immutable, lives for ever.
struct SimdTables;

// The functions of the best set that the processor has, chosen at the first call. The environment
// variable ONDINE_ISA (baseline, avx2, avx512 or amx) selects a lower one; a set that the processor
// lacks is ignored.
const SimdTables& simd_tables() noexcept;

// simd_tables() for products of a lower precision, if the processor has the instructions and
// ONDINE_ISA does not exclude them; else simd_tables().
const SimdTables& simd_tables(Precision precision) noexcept;

bool rounds_products(const SimdTables& kernels) noexcept;
// Whether they do it in tiles.
bool rounds_in_tiles(const SimdTables& kernels) noexcept;

// `kernels` if they do not compute products in this mode, else those of the same instruction set
// that keep the precision of float32; without `split` in vectors alone.
const SimdTables& without(const SimdTables& kernels, ProductMode mode) noexcept;

// Exact products of 8-bit integers: all that `kernels` and the processor allow, the fastest first.
struct Int8GemmKernels;
struct Int8GemmList {
  const Int8GemmKernels* first;
  const Int8GemmKernels* second;  // may be null
};
Int8GemmList int8_gemm_implementations(const SimdTables& kernels) noexcept;

// nullptr when the build or the processor does not have the set, or the set not this mode.
const SimdTables* simd_tables_for(Isa isa, ProductMode mode) noexcept;
// In the fastest mode that keeps the precision of float32.
const SimdTables* simd_tables_for(Isa isa) noexcept;

const char* isa_name(const SimdTables& kernels) noexcept;

}  // namespace ondine::math
