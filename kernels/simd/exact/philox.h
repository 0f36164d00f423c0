// Philox 4x32-10 as core/random/random.cpp has it, a block in each 64-bit lane.
#pragma once

#include "core/random/random.h"
#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {

using Words = Vec<std::uint64_t>;  // of which the low halves count

// Products of the low halves.
ONDINE_INLINE Words multiply(const Words& a, std::uint32_t b) {
#if defined(__AVX512F__)
  return reinterpret_cast<Words>(
      _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), _mm512_set1_epi64(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<Words>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(a), _mm256_set1_epi64x(b)));
#elif defined(__SSE2__)
  return reinterpret_cast<Words>(_mm_mul_epu32(reinterpret_cast<__m128i>(a), _mm_set1_epi64x(b)));
#else
  return (a & 0xffffffffU) * std::uint64_t{b};
#endif
}

// Words 0 to 3 of the blocks.
ONDINE_INLINE void philox(const RandomKey& key, const Words& index, Words (&c)[4]) {
  std::uint32_t k0 = static_cast<std::uint32_t>(key.seed) ^ key.stream * 0x85EBCA6BU;
  std::uint32_t k1 = static_cast<std::uint32_t>(key.seed >> 32) ^ key.stream;
  c[0] = index;
  c[1] = index >> 32;
  c[2] = Words{} + key.step;
  c[3] = c[2] >> 32;
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const Words p0 = multiply(c[0], 0xD2511F53U);
    const Words p1 = multiply(c[2], 0xCD9E8D57U);
    c[0] = (p1 >> 32) ^ c[1] ^ std::uint64_t{k0};
    c[1] = p1;
    c[2] = (p0 >> 32) ^ c[3] ^ std::uint64_t{k1};
    c[3] = p0;
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
}

}  // namespace ondine::math::ONDINE_ISA
