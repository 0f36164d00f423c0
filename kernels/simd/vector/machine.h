// Facts about the registers of the instruction set that a file is compiled for. Kernels choose the
// sizes of their blocks by them, so that a new instruction set is a row here and in simd.cmake.
#pragma once

namespace ondine::math::ONDINE_ISA {

enum class Registers { avx512, avx2, neon, other };

#if defined(__AVX512F__)
inline constexpr Registers registers = Registers::avx512;
#elif defined(__AVX2__)
inline constexpr Registers registers = Registers::avx2;
#elif defined(__aarch64__)
inline constexpr Registers registers = Registers::neon;
#else
inline constexpr Registers registers = Registers::other;
#endif

// Vector registers: 32, or 16 and fewer.
inline constexpr bool has_32_registers =
    registers == Registers::avx512 || registers == Registers::neon;
// Loads and stores of some lanes; by registers of masks, which cost nothing more.
inline constexpr bool has_masks = registers == Registers::avx512 || registers == Registers::avx2;
inline constexpr bool has_mask_registers = registers == Registers::avx512;
// A product by a lane of a vector is one instruction.
inline constexpr bool has_lane_products = registers == Registers::neon;

// A size for each kind.
struct BlockSizes {
  int avx512, avx2, neon, other;

  constexpr int of_machine() const {
    switch (registers) {
      case Registers::avx512:
        return avx512;
      case Registers::avx2:
        return avx2;
      case Registers::neon:
        return neon;
      case Registers::other:
        break;
    }
    return other;
  }
};

}  // namespace ondine::math::ONDINE_ISA
