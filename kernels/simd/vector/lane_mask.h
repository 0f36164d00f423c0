// Masks of the lanes of float vectors. Loads do not touch memory under lanes that a mask leaves
// out, and give 0 there.
#pragma once

#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {

#if defined(__AVX512F__)
using LaneMask = __mmask16;

// Lanes [first, last), of those that there are.
ONDINE_INLINE LaneMask lanes_between(std::int64_t first, std::int64_t last) {
  const auto below = [](std::int64_t n) __attribute__((always_inline)) {
    return n >= lanes<float> ? 0xffffU : n > 0 ? (1U << n) - 1 : 0U;
  };
  return static_cast<LaneMask>(below(last) & ~below(first));
}
ONDINE_INLINE Vec<float> load_masked(const float* p, LaneMask mask) {
  return reinterpret_cast<Vec<float>>(_mm512_maskz_loadu_ps(mask, p));
}
ONDINE_INLINE void store_masked(float* p, const Vec<float>& v, LaneMask mask) {
  _mm512_mask_storeu_ps(p, mask, reinterpret_cast<__m512>(v));
}
#elif defined(__AVX2__)
using LaneMask = IVec<float>;

ONDINE_INLINE LaneMask lanes_between(std::int64_t first, std::int64_t last) {
  const LaneMask lane = {0, 1, 2, 3, 4, 5, 6, 7};
  const auto clamp = [](std::int64_t n) __attribute__((always_inline)) {
    return static_cast<std::int32_t>(n < 0 ? 0 : n > lanes<float> ? lanes<float> : n);
  };
  return (lane >= clamp(first)) & (lane < clamp(last));
}
ONDINE_INLINE Vec<float> load_masked(const float* p, const LaneMask& mask) {
  return reinterpret_cast<Vec<float>>(_mm256_maskload_ps(p, reinterpret_cast<__m256i>(mask)));
}
#endif

}  // namespace ondine::math::ONDINE_ISA
