// Philox 4x32-10 as core/random.cpp has it, a block in each 64-bit lane, and Box and Muller's
// transform of its words.
#include "kernels/simd/exact/exact_parts.h"
#include "kernels/simd/vector/functions.h"

namespace ondine::math::ONDINE_ISA {
namespace {

using Words = Vec<std::uint64_t>;  // of which the low halves count

constexpr int group = 16;             // blocks
constexpr int blocks = lanes<float>;  // of one step: the even and the odd ones in a vector each

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

// The low halves of both, in turns.
ONDINE_INLINE Vi interleave(const Words& even, const Words& odd) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  return reinterpret_cast<Vi>((odd & 0xffffffffU) | (even << 32));
#else
  return reinterpret_cast<Vi>((even & 0xffffffffU) | (odd << 32));
#endif
}

// Two normal numbers for each pair of words.
ONDINE_INLINE void store_pair(float* to, const Vi& u, const Vi& v) {
  const Vi positive = reinterpret_cast<Vi>(reinterpret_cast<Vec<std::uint32_t>>(u) >> 1);
  const Vf uniform = __builtin_convertvector(positive, Vf) * 0x1p-31f + 0x1p-32f;
  const Vf radius = square_root<float>(-2.0f * log_of(uniform));
  const Vf angle = __builtin_convertvector(v, Vf) * 1.46291807926715968e-9f;  // 2 pi / 2^32
  store<float>(to, radius * sine(angle, 1));
  store<float>(to + group, radius * sine(angle, 0));
}

}  // namespace

void normal_groups(float* to, const RandomKey& key, std::uint64_t first, std::int64_t groups) {
  Words even_blocks{};
  for (int i = 0; i < lanes<std::uint64_t>; ++i) {
    even_blocks[i] = 2 * static_cast<std::uint64_t>(i);
  }
  for (std::int64_t g = 0; g < groups; ++g, to += 4 * group) {
    for (int done = 0; done < group; done += blocks) {
      Words even[4], odd[4];
      const std::uint64_t block =
          group * (first + static_cast<std::uint64_t>(g)) + static_cast<std::uint64_t>(done);
      philox(key, even_blocks + block, even);
      philox(key, even_blocks + block + std::uint64_t{1}, odd);
      store_pair(to + done, interleave(even[0], odd[0]), interleave(even[1], odd[1]));
      store_pair(to + done + 2 * group, interleave(even[2], odd[2]), interleave(even[3], odd[3]));
    }
  }
}

}  // namespace ondine::math::ONDINE_ISA
