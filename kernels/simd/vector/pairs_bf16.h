// Pairs of bfloat16 in vectors, for AVX512-BF16.
#pragma once

#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {

// A pair lies in the place of a float; arithmetic never sees it as one.
using Pair = float;

// Lane i: the pair of x[i] and y[i].
ONDINE_INLINE Vec<Pair> pair_lanes(const Vec<float>& x, const Vec<float>& y) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512bh both =
      _mm512_cvtne2ps_pbh(reinterpret_cast<__m512>(y), reinterpret_cast<__m512>(x));
  return reinterpret_cast<Vec<Pair>>(
      _mm512_permutexvar_epi16(order, reinterpret_cast<__m512i>(both)));
}

// Pairs of the elements of `low` that follow each other, then those of `high`.
ONDINE_INLINE Vec<Pair> join_pairs(const Vec<float>& low, const Vec<float>& high) {
  return reinterpret_cast<Vec<Pair>>(
      _mm512_cvtne2ps_pbh(reinterpret_cast<__m512>(high), reinterpret_cast<__m512>(low)));
}

// Eight pairs of elements that follow each other.
ONDINE_INLINE void store_pairs(Pair* to, const Vec<float>& x) {
  const __m256bh pairs = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(x));
  __builtin_memcpy(to, &pairs, sizeof(pairs));
}

}  // namespace ondine::math::ONDINE_ISA
