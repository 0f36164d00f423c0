// Compiled without contraction: a product and the sum after it are both rounded.
#include "kernels/simd/quantize/quantized_rows.h"

#include "kernels/simd/quantize/requantize_vectors.h"

namespace ondine::math::ONDINE_ISA {
namespace {

// Whole vectors of Bytes from j on; returns where they end.
template <class Bytes>
ONDINE_INLINE std::int64_t maximum_vectors(std::uint8_t* y, const std::uint8_t* const* rows,
                                           std::int64_t count, std::int64_t j, std::int64_t n,
                                           std::uint8_t flip, std::uint8_t flip_back) {
  constexpr auto step = static_cast<std::int64_t>(sizeof(Bytes));
  for (; j + step <= n; j += step) {
    Bytes best;
    __builtin_memcpy(&best, rows[0] + j, sizeof(best));
    best ^= flip;
    for (std::int64_t r = 1; r < count; ++r) {
      Bytes next;
      __builtin_memcpy(&next, rows[r] + j, sizeof(next));
      next ^= flip;
      best = next > best ? next : best;
    }
    best ^= flip_back;
    __builtin_memcpy(y + j, &best, sizeof(best));
  }
  return j;
}

template <bool product, bool one_b>
ONDINE_INLINE void combine(std::uint8_t* __restrict y, const std::uint8_t* __restrict a,
                           const std::uint8_t* __restrict b, const QuantizedPair& by,
                           std::int64_t n) {
  const QuantizedPair s = by;
  const auto number_b = [&](std::int64_t i) {
    const auto from = static_cast<std::uint8_t>(b[i] ^ s.flip_b);
    return (static_cast<float>(from) - s.zero_point_b) * s.scale_b;
  };
  const float only_b = one_b ? number_b(0) : 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto from_a = static_cast<std::uint8_t>(a[i] ^ s.flip_a);
    const float number_a = (static_cast<float>(from_a) - s.zero_point_a) * s.scale_a;
    const float other = one_b ? only_b : number_b(i);
    float v = (product ? number_a * other : number_a + other) / s.scale;
    v = v == v ? v : 0;
    v = v < s.lowest ? s.lowest : v;
    v = v > s.highest ? s.highest : v;
    y[i] = static_cast<std::uint8_t>(__builtin_bit_cast(std::int32_t, v + rounder) + s.zero_point);
  }
}

}  // namespace

void add_quantized(std::uint8_t* y, const std::uint8_t* a, const std::uint8_t* b,
                   const QuantizedPair& by, std::int64_t n) {
  by.one_b ? combine<false, true>(y, a, b, by, n) : combine<false, false>(y, a, b, by, n);
}

void multiply_quantized(std::uint8_t* y, const std::uint8_t* a, const std::uint8_t* b,
                        const QuantizedPair& by, std::int64_t n) {
  by.one_b ? combine<true, true>(y, a, b, by, n) : combine<true, false>(y, a, b, by, n);
}

void look_up_bytes(std::uint8_t* __restrict y, const std::uint8_t* __restrict x,
                   const std::uint8_t* __restrict table, std::int64_t n) {
  std::int64_t i = 0;
#if defined(__AVX512BW__)
  // The table as 128 words: one is chosen by the upper bits of an index, a byte of it by the
  // lowest.
  const __m512i words[4] = {_mm512_loadu_si512(table), _mm512_loadu_si512(table + 64),
                            _mm512_loadu_si512(table + 128), _mm512_loadu_si512(table + 192)};
  constexpr __mmask32 all = ~__mmask32{0};
  for (; i + 32 <= n; i += 32) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i));
    const __m512i index = _mm512_maskz_cvtepu8_epi16(all, bytes);
    const __m512i word = _mm512_maskz_srli_epi16(all, index, 1);
    const __m512i low = _mm512_permutex2var_epi16(words[0], word, words[1]);
    const __m512i high = _mm512_permutex2var_epi16(words[2], word, words[3]);
    const __mmask32 upper = _mm512_test_epi16_mask(index, _mm512_set1_epi16(0x80));
    const __m512i odd = _mm512_maskz_slli_epi16(all, index & _mm512_set1_epi16(1), 3);
    const __m512i found =
        _mm512_maskz_srlv_epi16(all, _mm512_mask_blend_epi16(upper, low, high), odd);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), _mm512_maskz_cvtepi16_epi8(all, found));
  }
#endif
  for (; i < n; ++i) y[i] = table[x[i]];
}

void maximum_bytes(std::uint8_t* y, const std::uint8_t* const* rows, std::int64_t count,
                   std::int64_t n, std::uint8_t flip, std::uint8_t flip_back) {
  using Short = std::uint8_t __attribute__((vector_size(16)));
  std::int64_t j = maximum_vectors<Vec<std::uint8_t>>(y, rows, count, 0, n, flip, flip_back);
  j = maximum_vectors<Short>(y, rows, count, j, n, flip, flip_back);
  if (j < n && n >= 16) {  // some of them once more
    j = maximum_vectors<Short>(y, rows, count, n - 16, n, flip, flip_back);
  }
  for (; j < n; ++j) {
    std::uint8_t best = 0;
    for (std::int64_t r = 0; r < count; ++r) {
      const auto each = static_cast<std::uint8_t>(rows[r][j] ^ flip);
      best = each > best ? each : best;
    }
    y[j] = static_cast<std::uint8_t>(best ^ flip_back);
  }
}

}  // namespace ondine::math::ONDINE_ISA
