// Elements of bfloat16, given by their bits, as vectors of float.
#pragma once

#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {

template <class T>
ONDINE_INLINE Vec<T> load_widened(const T* p) {
  return load(p);
}
template <class T>
ONDINE_INLINE Vec<T> load_widened_n(const T* p, std::int64_t n) {
  return load_n(p, n);
}

// One element.
template <class T>
ONDINE_INLINE T widened(T x) {
  return x;
}
ONDINE_INLINE float widened(std::uint16_t x) {
  return __builtin_bit_cast(float, std::uint32_t{x} << 16);
}

typedef std::uint16_t Narrow __attribute__((vector_size(vector_bytes / 2)));

ONDINE_INLINE Vec<float> widened_lanes(const Narrow& v) {
#if defined(__AVX512F__)
  // The compiler would widen halves, and take an operand without a mask for uninitialized.
  const __m512i wide = _mm512_maskz_cvtepu16_epi32(0xffff, reinterpret_cast<__m256i>(v));
  return reinterpret_cast<Vec<float>>(reinterpret_cast<Vec<std::uint32_t>>(wide) << 16);
#else
  return reinterpret_cast<Vec<float>>(__builtin_convertvector(v, Vec<std::uint32_t>) << 16);
#endif
}
ONDINE_INLINE Vec<float> load_widened(const std::uint16_t* p) {
  Narrow v;
  __builtin_memcpy(&v, p, sizeof(v));
  return widened_lanes(v);
}
// The first n lanes, 0 <= n <= lanes; the others are 0.
ONDINE_INLINE Vec<float> load_widened_n(const std::uint16_t* p, std::int64_t n) {
#if defined(__AVX512F__)
  const auto mask = static_cast<__mmask16>((1u << n) - 1u);
  return widened_lanes(reinterpret_cast<Narrow>(_mm256_maskz_loadu_epi16(mask, p)));
#else
  std::uint16_t some[lanes<float>] = {};
  for (std::int64_t i = 0; i < n; ++i) some[i] = p[i];
  return load_widened(some);
#endif
}

}  // namespace ondine::math::ONDINE_ISA
