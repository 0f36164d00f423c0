// Compiled without contraction: a product and the sum after it are both rounded.
#include "kernels/simd/quantize/quantized_rows.h"

#include "kernels/simd/quantize/levels.h"
#include "kernels/simd/quantize/requantize_vectors.h"
#include "kernels/simd/vector/pairs_bf16.h"
#include "kernels/simd/vector/widened.h"

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

constexpr std::uint32_t infinity = 0x7f800000;
constexpr float least_scale = 0x1p-126F;  // a smaller one has no finite reciprocal

template <class X>
ONDINE_INLINE Vec<float> scaled_lanes(const X* x, const float* factors, std::int64_t i,
                                      std::int64_t n) {
  const std::int64_t left = n - i;
  const bool whole = left >= lanes<float>;
  const Vec<float> v = whole ? load_widened(x + i) : load_widened_n(x + i, left);
  if (factors == nullptr) return v;
  return v * (whole ? load(factors + i) : load_n(factors + i, left));
}

// The bits of the largest magnitude; those of infinity or more where an element is not finite.
template <class X>
ONDINE_INLINE std::uint32_t largest_magnitude(const X* x, const float* factors, std::int64_t n) {
  Vec<std::int32_t> most{};
  for (std::int64_t i = 0; i < n; i += lanes<float>) {
    const Vec<std::int32_t> next = bits<float>(scaled_lanes(x, factors, i, n)) & 0x7fffffff;
    most = next > most ? next : most;
  }
  std::int32_t largest = 0;
  for (int i = 0; i < lanes<float>; ++i) largest = most[i] > largest ? most[i] : largest;
  return static_cast<std::uint32_t>(largest);
}

#if defined(__AVX2__)
// Elements of whole vectors; returns their number.
template <bool each_scale, bool each_factor>
ONDINE_INLINE std::int64_t level_vectors(std::uint8_t* y, const std::uint8_t* packed,
                                         const LevelBytes& given, std::int64_t n) {
  const LevelBytes by = given;
  const Levels table(by.levels);
  const Vec<float> scale = broadcast(by.scale[0]);
  const Vec<float> factor = broadcast(by.factor[0]);
  alignas(16) std::uint8_t elements[32];
  std::int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(packed + i / 2));
    const __m128i mask = _mm_set1_epi8(15);
    const __m128i low = _mm_and_si128(bytes, mask);
    const __m128i high = _mm_and_si128(_mm_srli_epi16(bytes, 4), mask);
    _mm_store_si128(reinterpret_cast<__m128i*>(elements), _mm_unpacklo_epi8(low, high));
    _mm_store_si128(reinterpret_cast<__m128i*>(elements + 16), _mm_unpackhi_epi8(low, high));
#pragma GCC unroll 4
    for (int j = 0; j < 32; j += lanes<float>) {
      const Vec<float> x =
          table[load_byte_lanes(elements + j)] * (each_scale ? load(by.scale + i + j) : scale);
      const Vec<float> whole = x * (each_factor ? load(by.factor + i + j) : factor) + rounder;
      store_bytes(y + i + j, bits<float>(whole), lanes<float>);
    }
  }
  return i;
}
#endif

template <bool each_scale, bool each_factor>
ONDINE_INLINE void level_bytes(std::int8_t* y, const std::uint8_t* packed, const LevelBytes& by,
                               std::int64_t n) {
  std::int64_t i = 0;
#if defined(__AVX2__)
  i = level_vectors<each_scale, each_factor>(reinterpret_cast<std::uint8_t*>(y), packed, by, n);
#endif
  for (; i < n; ++i) {
    const int x = packed[i / 2] >> (i % 2 * 4) & 15;
    const float number = by.levels[x] * by.scale[each_scale ? i : 0];
    const float whole = number * by.factor[each_factor ? i : 0] + rounder;
    y[i] = static_cast<std::int8_t>(__builtin_bit_cast(std::int32_t, whole));
  }
}

}  // namespace

void levels_to_bytes(std::int8_t* y, const std::uint8_t* packed, const LevelBytes& by,
                     std::int64_t n) {
  if (by.each_scale) {
    return by.each_factor ? level_bytes<true, true>(y, packed, by, n)
                          : level_bytes<true, false>(y, packed, by, n);
  }
  by.each_factor ? level_bytes<false, true>(y, packed, by, n)
                 : level_bytes<false, false>(y, packed, by, n);
}

template <class X>
std::int32_t row_to_bytes(std::int8_t* y, float* scale, const X* x, const float* factors,
                          std::int64_t n) {
  const std::uint32_t largest = largest_magnitude(x, factors, n);
  *scale = __builtin_bit_cast(float, largest) / 127;
  if (largest >= infinity || *scale < least_scale) {
    *scale = largest >= infinity ? __builtin_nanf("") : 0;
    for (std::int64_t i = 0; i < n; ++i) y[i] = 0;
    return 0;
  }
  const Vec<float> inverse = broadcast(1 / *scale);
  auto* const to = reinterpret_cast<std::uint8_t*>(y);
  Vec<std::int32_t> sums{};
  const std::int32_t zero = __builtin_bit_cast(std::int32_t, rounder);
  for (std::int64_t i = 0; i < n; i += lanes<float>) {
    const Vec<std::int32_t> whole = bits<float>(scaled_lanes(x, factors, i, n) * inverse + rounder);
    sums += whole - zero;
    store_bytes(to + i, whole, n - i);
  }
  std::int32_t sum = 0;
  for (int i = 0; i < lanes<float>; ++i) sum += sums[i];
  return sum;
}

template std::int32_t row_to_bytes(std::int8_t*, float*, const float*, const float*, std::int64_t);
template std::int32_t row_to_bytes(std::int8_t*, float*, const std::uint16_t*, const float*,
                                   std::int64_t);

void round_row_to_bytes(std::int8_t* y, const float* x, const float* factors, bool each,
                        std::int64_t n) {
  auto* const to = reinterpret_cast<std::uint8_t*>(y);
  const Vec<float> one = broadcast(factors[0]);
  for (std::int64_t i = 0; i < n; i += lanes<float>) {
    const std::int64_t left = n - i;
    const bool whole = left >= lanes<float>;
    Vec<float> factor = one;
    if (each) factor = whole ? load(factors + i) : load_n(factors + i, left);
    const Vec<float> v = (whole ? load(x + i) : load_n(x + i, left)) * factor;
    store_bytes(to + i, bits<float>(v + rounder), left);
  }
}

void scale_sums(Elements<float> y, const std::int32_t* sums, const ScaledRow& by, std::int64_t n) {
  const Vec<std::int32_t> add = broadcast(by.add);
  const Vec<float> row = broadcast(by.row);
  for (std::int64_t i = 0; i < n; i += lanes<float>) {
    const std::int64_t left = n - i;
    const bool whole = left >= lanes<float>;
    const Vec<std::int32_t> sum = wrapping_sum(load_int32(sums + i, left), add);
    Vec<float> scale = row;
    if (by.columns != nullptr) scale *= whole ? load(by.columns + i) : load_n(by.columns + i, left);
    Vec<float> v = __builtin_convertvector(sum, Vec<float>) * scale;
    if (by.bias != nullptr) v += whole ? load(by.bias + i) : load_n(by.bias + i, left);
    if (!y.is_bf16()) {
      whole ? store(y.plain() + i, v) : store_n(y.plain() + i, v, left);
    } else if (whole) {
      store_rounded(y.bf16() + i, v);
    } else {
      store_rounded_n(y.bf16() + i, v, left);
    }
  }
}

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
