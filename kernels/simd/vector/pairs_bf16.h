// Pairs of bfloat16 in vectors: by the instructions of AVX512-BF16, elsewhere by integer
// operations, so that what uses them is tested on any processor.
#pragma once

#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {

// A pair lies in the place of a float; arithmetic never sees it as one.
using Pair = float;

#if defined(__AVX512BF16__)

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

// Elements one after the other; of `store_rounded_n` the first n.
ONDINE_INLINE void store_rounded(std::uint16_t* to, const Vec<float>& x) {
  const __m256bh elements = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(x));
  __builtin_memcpy(to, &elements, sizeof(elements));
}
ONDINE_INLINE void store_rounded_n(std::uint16_t* to, const Vec<float>& x, std::int64_t n) {
  const auto mask = static_cast<__mmask16>((1u << n) - 1u);
  const __m256bh elements = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(x));
  _mm256_mask_storeu_epi16(to, mask, reinterpret_cast<__m256i>(elements));
}

// acc and the products of the pairs in `factor` and `row`, of which denormal numbers count as
// zeros.
ONDINE_INLINE Vec<float> add_pair_products(const Vec<float>& acc, const Vec<Pair>& factor,
                                           const Vec<Pair>& row) {
  return reinterpret_cast<Vec<float>>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(acc),
                                                       reinterpret_cast<__m512bh>(factor),
                                                       reinterpret_cast<__m512bh>(row)));
}

#else

using PairBits = Vec<std::uint32_t>;

// bfloat16 in the upper half of each lane: to nearest, ties to even; a NaN stays one.
ONDINE_INLINE PairBits upper_halves(const Vec<float>& x) {
  const PairBits bits = reinterpret_cast<PairBits>(x);
  const PairBits mask = PairBits{} + 0xffff0000u;
  const PairBits nearest = (bits + 0x7fffu + ((bits >> 16) & 1u)) & mask;
  const PairBits quiet = (bits & mask) | 0x400000u;
  return x == x ? nearest : quiet;
}

ONDINE_INLINE Vec<Pair> pair_lanes(const Vec<float>& x, const Vec<float>& y) {
  return reinterpret_cast<Vec<Pair>>((upper_halves(x) >> 16) | upper_halves(y));
}

ONDINE_INLINE void store_rounded_n(std::uint16_t* to, const Vec<float>& x, std::int64_t n) {
  const PairBits halves = upper_halves(x) >> 16;
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<std::uint16_t>(halves[i]);
}
ONDINE_INLINE void store_rounded(std::uint16_t* to, const Vec<float>& x) {
  using Halves = std::uint16_t __attribute__((vector_size(vector_bytes / 2)));
  const Halves halves = __builtin_convertvector(upper_halves(x) >> 16, Halves);
  __builtin_memcpy(to, &halves, sizeof(halves));
}

template <int... I>
ONDINE_INLINE Vec<Pair> join_lanes(const Vec<float>& low, const Vec<float>& high,
                                   std::integer_sequence<int, I...>) {
  return pair_lanes(__builtin_shufflevector(low, high, (2 * I)...),
                    __builtin_shufflevector(low, high, (2 * I + 1)...));
}
ONDINE_INLINE Vec<Pair> join_pairs(const Vec<float>& low, const Vec<float>& high) {
  return join_lanes(low, high, std::make_integer_sequence<int, lanes<float>>());
}

ONDINE_INLINE Vec<float> add_pair_products(const Vec<float>& acc, const Vec<Pair>& factor,
                                           const Vec<Pair>& row) {
  const auto low = [](const Vec<Pair>& x) {
    return reinterpret_cast<Vec<float>>(reinterpret_cast<PairBits>(x) << 16);
  };
  const auto high = [](const Vec<Pair>& x) {
    return reinterpret_cast<Vec<float>>(reinterpret_cast<PairBits>(x) & 0xffff0000u);
  };
  return acc + high(factor) * high(row) + low(factor) * low(row);
}

#endif

// The elements of both vectors, those of `low` first.
ONDINE_INLINE void store_rounded(std::uint16_t* to, const Vec<float>& low, const Vec<float>& high) {
  const Vec<Pair> pairs = join_pairs(low, high);
  __builtin_memcpy(to, &pairs, sizeof(pairs));
}

// The pair at `from` in every lane.
ONDINE_INLINE Vec<Pair> broadcast_pair(const Pair* from) {
  std::int32_t pair;
  __builtin_memcpy(&pair, from, sizeof(pair));
  return reinterpret_cast<Vec<Pair>>(IVec<float>{} + pair);
}

}  // namespace ondine::math::ONDINE_ISA
