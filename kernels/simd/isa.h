// The numerics are built for several instruction sets; the best one is chosen when the program
// runs.
#pragma once

#include <cstdint>

#include <ondine/precision.h>

namespace ondine::math {

// amx: avx512, with large products of float32 in tiles, in their precision. avx512_bf16: avx512,
// with products of float32 that round their factors to bfloat16; amx_bf16: the same with matrix
// products in tiles. The last two are chosen by kernels(Precision) only.
enum class Isa : std::uint8_t { baseline, avx2, avx512, amx, avx512_bf16, amx_bf16 };

// Whether products of float32 round their factors.
constexpr bool rounds_products(Isa isa) noexcept {
  return isa == Isa::avx512_bf16 || isa == Isa::amx_bf16;
}

// The functions of one instruction set. Immutable, lives for ever.
struct Kernels;

// The functions of the best set that the processor has, chosen at the first call. The environment
// variable ONDINE_ISA (baseline, avx2, avx512 or amx) selects a lower one; a set that the processor
// lacks is ignored.
const Kernels& kernels() noexcept;

// The same for products of a lower precision, where the processor has the instructions and
// ONDINE_ISA does not exclude them; else kernels().
const Kernels& kernels(Precision precision) noexcept;

// Those that compute everything in the precision of its type: `kernels` itself, or amx or avx512
// for those that round products.
const Kernels& full_precision(const Kernels& kernels) noexcept;

// Those that compute products of float32 in vectors alone: `kernels` itself, or avx512 for amx.
const Kernels& without_tiles(const Kernels& kernels) noexcept;

// Exact products of 8-bit integers: all that `kernels` and the processor allow, the fastest first.
struct Int8GemmKernels;
struct Int8GemmList {
  const Int8GemmKernels* first;
  const Int8GemmKernels* second;  // may be null
};
Int8GemmList int8_gemm_implementations(const Kernels& kernels) noexcept;

// nullptr when the build or the processor does not have the set.
const Kernels* kernels_for(Isa isa) noexcept;

const char* isa_name(const Kernels& kernels) noexcept;

}  // namespace ondine::math
