// The compiler turns these loops into vectors: they have no branches, and every case of an element
// is computed.
#include "kernels/simd/vector/convert_table.h"

#include "kernels/simd/isa_tables.h"
#include "kernels/simd/vector/reduce.h"

namespace ondine::math::ONDINE_ISA {
namespace {

ONDINE_INLINE std::uint32_t bits_of(float x) { return __builtin_bit_cast(std::uint32_t, x); }
ONDINE_INLINE float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

void bfloat16_to_float(float* __restrict dst, const std::uint16_t* __restrict src, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) dst[i] = float_of(std::uint32_t{src[i]} << 16);
}

void float_to_bfloat16(std::uint16_t* __restrict dst, const float* __restrict src, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t bits = bits_of(src[i]);
    const std::uint32_t nan = bits >> 16 | 0x40U;
    const std::uint32_t nearest = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
    dst[i] = static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? nan : nearest);
  }
}

void float16_to_float(float* __restrict dst, const std::uint16_t* __restrict src, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t sign = (std::uint32_t{src[i]} & 0x8000U) << 16;
    const std::uint32_t rest = src[i] & 0x7fffU;
    const std::uint32_t special = 0x7f800000U | (rest & 0x3ffU) << 13;
    const std::uint32_t number = bits_of(float_of(rest << 13) * 0x1p+112F);
    dst[i] = float_of(sign | (rest >= 0x7c00U ? special : number));
  }
}

void float_to_float16(std::uint16_t* __restrict dst, const float* __restrict src, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t bits = bits_of(src[i]);
    const std::uint32_t sign = bits >> 16 & 0x8000U;
    const std::uint32_t rest = bits & 0x7fffffffU;
    const std::uint32_t nan = 0x7e00U | (rest >> 13 & 0x3ffU);
    const std::uint32_t small = bits_of(float_of(rest) + 0.5F) - 0x3f000000U;
    const std::uint32_t normal = (rest - 0x38000000U + 0xfffU + (rest >> 13 & 1U)) >> 13;
    std::uint32_t half = rest < 0x38800000U ? small : normal;
    half = rest >= 0x477ff000U ? 0x7c00U : half;  // rounds to 2^16 or above
    half = rest > 0x7f800000U ? nan : half;
    dst[i] = static_cast<std::uint16_t>(sign | half);
  }
}

}  // namespace

constinit const ConvertKernels convert_kernels = {&bfloat16_to_float, &float_to_bfloat16,
                                                  &float16_to_float, &float_to_float16,
                                                  &add_rows<float, std::uint16_t>};

}  // namespace ondine::math::ONDINE_ISA
