// Sums of products to quantized numbers, one vector at a time. Every instruction set computes the
// same bits: the bounds stand between the product and the next sum, which are never contracted.
#pragma once

#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {

// Added to a float below 2^22 in magnitude, it rounds to a whole number, ties to even, which the
// low bits hold.
inline constexpr float rounder = 12582912;  // 2^23 + 2^22

ONDINE_INLINE Vec<float> larger(const Vec<float>& a, const Vec<float>& b) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vec<float>>(
      _mm512_maskz_max_ps(0xffff, reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<Vec<float>>(
      _mm256_max_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b)));
#else
  return a > b ? a : b;
#endif
}

ONDINE_INLINE Vec<float> smaller(const Vec<float>& a, const Vec<float>& b) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vec<float>>(
      _mm512_maskz_min_ps(0xffff, reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<Vec<float>>(
      _mm256_min_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b)));
#else
  return a < b ? a : b;
#endif
}

ONDINE_INLINE Vec<std::int32_t> load_int32(const std::int32_t* p, std::int64_t n) {
  if (n >= lanes<std::int32_t>) return load(p);
  Vec<std::int32_t> v{};
  for (std::int64_t i = 0; i < n; ++i) v[i] = p[i];
  return v;
}

// Modulo 2^32: parts of a sum that fits may not.
ONDINE_INLINE Vec<std::int32_t> wrapping_sum(const Vec<std::int32_t>& a,
                                             const Vec<std::int32_t>& b) {
  using Bits = Vec<std::uint32_t>;
  return reinterpret_cast<Vec<std::int32_t>>(reinterpret_cast<Bits>(a) + reinterpret_cast<Bits>(b));
}

// The low bytes of the first n lanes.
ONDINE_INLINE void store_bytes(std::uint8_t* to, const Vec<std::int32_t>& v, std::int64_t n) {
#if defined(__AVX512BW__)
  const __m128i bytes = _mm512_maskz_cvtepi32_epi8(0xffff, reinterpret_cast<__m512i>(v));
  if (n >= lanes<std::int32_t>) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  } else {
    _mm_mask_storeu_epi8(to, static_cast<__mmask16>((1u << n) - 1u), bytes);
  }
#else
  using Bytes = std::uint8_t __attribute__((vector_size(lanes<std::int32_t>)));
  const Bytes bytes = __builtin_convertvector(v, Bytes);
  if (n >= lanes<std::int32_t>) {
    __builtin_memcpy(to, &bytes, sizeof(bytes));
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i] = bytes[i];
  }
#endif
}

// saturate(round(sum scale)) + zero point, in the low byte of each lane.
struct RequantizeVectors {
  __attribute__((always_inline)) RequantizeVectors(float low, float high, std::int32_t zero)
      : lowest(broadcast(low)), highest(broadcast(high)), zero_point(broadcast(zero)) {}
  __attribute__((always_inline)) Vec<std::int32_t> quantized(const Vec<std::int32_t>& sum,
                                                             const Vec<float>& scale) const {
    const Vec<float> v = __builtin_convertvector(sum, Vec<float>) * scale;
    return bits<float>(smaller(larger(v, lowest), highest) + rounder) + zero_point;
  }

  Vec<float> lowest, highest;
  Vec<std::int32_t> zero_point;
};

}  // namespace ondine::math::ONDINE_ISA
