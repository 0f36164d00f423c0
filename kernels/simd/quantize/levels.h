// 16 numbers that 4 bits choose from.
#pragma once

#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {

#if defined(__AVX2__)
inline constexpr bool has_any_levels = true;

// As one vector, or as two that bit 3 of an index chooses from.
class Levels {
 public:
  ONDINE_MEMBER explicit Levels(const float* levels) {
    for (int i = 0; i < vectors; ++i) parts_[i] = load(levels + i * lanes<float>);
  }
  // Levels that the low 4 bits of each lane choose.
  ONDINE_MEMBER Vec<float> operator[](const Vec<std::uint32_t>& index) const {
#if defined(__AVX512F__)
    return reinterpret_cast<Vec<float>>(_mm512_maskz_permutexvar_ps(
        0xffff, reinterpret_cast<__m512i>(index), reinterpret_cast<__m512>(parts_[0])));
#else
    const auto by = reinterpret_cast<__m256i>(index);
    const __m256 low = _mm256_permutevar8x32_ps(reinterpret_cast<__m256>(parts_[0]), by);
    const __m256 high = _mm256_permutevar8x32_ps(reinterpret_cast<__m256>(parts_[1]), by);
    const __m256 upper = _mm256_castsi256_ps(_mm256_slli_epi32(by, 28));
    return reinterpret_cast<Vec<float>>(_mm256_blendv_ps(low, high, upper));
#endif
  }

 private:
  static constexpr int vectors = 16 / lanes<float>;
  Vec<float> parts_[vectors];
};
#else
inline constexpr bool has_any_levels = false;

// Levels that are the numbers of int4 or uint4, less a whole number: they are computed.
class Levels {
 public:
  ONDINE_MEMBER explicit Levels(const float* levels) {
    const std::int32_t flip = levels[8] < levels[0] ? 8 : 0;
    flip_ = broadcast(flip);
    shift_ = broadcast(flip - static_cast<std::int32_t>(levels[0]));
  }
  ONDINE_MEMBER Vec<float> operator[](const Vec<std::uint32_t>& index) const {
    const auto low = reinterpret_cast<Vec<std::int32_t>>(index & 15);
    return __builtin_convertvector((low ^ flip_) - shift_, Vec<float>);
  }

 private:
  Vec<std::int32_t> flip_, shift_;
};
#endif

// Bytes as lanes of 32 bits.
ONDINE_INLINE Vec<std::uint32_t> load_byte_lanes(const std::uint8_t* p) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vec<std::uint32_t>>(
      _mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#elif defined(__AVX2__)
  return reinterpret_cast<Vec<std::uint32_t>>(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#else
  using Bytes = std::uint8_t __attribute__((vector_size(lanes<float>)));
  Bytes v;
  __builtin_memcpy(&v, p, sizeof(v));
  return __builtin_convertvector(v, Vec<std::uint32_t>);
#endif
}
ONDINE_INLINE Vec<std::int32_t> load_signed_byte_lanes(const std::uint8_t* p) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vec<std::int32_t>>(
      _mm512_maskz_cvtepi8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#elif defined(__AVX2__)
  return reinterpret_cast<Vec<std::int32_t>>(
      _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#else
  using Bytes = std::int8_t __attribute__((vector_size(lanes<float>)));
  Bytes v;
  __builtin_memcpy(&v, p, sizeof(v));
  return __builtin_convertvector(v, Vec<std::int32_t>);
#endif
}

}  // namespace ondine::math::ONDINE_ISA
