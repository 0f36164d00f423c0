// Plain loops, which the compiler vectorises for each instruction set.
#include "kernels/simd/quantize/quantize_table.h"

#include "kernels/simd/isa_tables.h"
#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {
namespace {

// Added to a float below 2^22 in magnitude, it rounds to a whole number, ties to even, which the
// low bits hold.
constexpr float rounder = 12582912;  // 2^23 + 2^22

template <class Y>
ONDINE_INLINE Y quantized(float x, float scale, float zero, float lowest, float highest) {
  float v = x / scale;
  v = v == v ? v : 0;
  v = v < lowest - zero ? lowest - zero : v;
  v = v > highest - zero ? highest - zero : v;
  const auto whole = __builtin_bit_cast(std::int32_t, v + rounder) -
                     __builtin_bit_cast(std::int32_t, rounder) + static_cast<std::int32_t>(zero);
  return static_cast<Y>(whole);
}

template <class Y>
void quantize(Y* __restrict y, const float* __restrict x, const QuantizeParameters& parameters,
              const QuantizeRange& range, std::int64_t n) {
  const QuantizeRange r = range;
  if (parameters.each) {
    const float* const s = parameters.scale;
    const float* const z = parameters.zero_point;
    for (std::int64_t i = 0; i < n; ++i) {
      y[i] = quantized<Y>(x[i], s[i], z[i], r.lowest, r.highest);
    }
    return;
  }
  const float scale = parameters.scale[0];
  const float zero = parameters.zero_point[0];
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = quantized<Y>(x[i], scale, zero, r.lowest, r.highest);
  }
}

template <class X>
void dequantize(float* __restrict y, const X* __restrict x, const QuantizeParameters& parameters,
                std::int64_t n) {
  if (parameters.each) {
    const float* const s = parameters.scale;
    const float* const z = parameters.zero_point;
    for (std::int64_t i = 0; i < n; ++i) y[i] = (static_cast<float>(x[i]) - z[i]) * s[i];
    return;
  }
  const float scale = parameters.scale[0];
  const float zero = parameters.zero_point[0];
  for (std::int64_t i = 0; i < n; ++i) y[i] = (static_cast<float>(x[i]) - zero) * scale;
}

// The same for doubles below 2^51.
constexpr double wide_rounder = 6755399441055744;  // 2^52 + 2^51

#if defined(__AVX512F__)
// Eight sums from i on, as whole numbers without the zero point.
template <bool Columns, bool Each>
ONDINE_INLINE __m256i requantize_eight(const std::int32_t* sums, const RequantizeRow& row,
                                       std::int64_t i) {
  const auto at = [i](const std::int32_t* x) __attribute__((always_inline)) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i));
  };
  __m256i sum = _mm256_add_epi32(at(sums), _mm256_set1_epi32(row.add));
  if (Columns) sum = _mm256_add_epi32(sum, at(row.columns));
  const __m512d scale = Each ? _mm512_loadu_pd(row.scale + i) : _mm512_set1_pd(row.scale[0]);
  constexpr __mmask8 all = 0xff;
  const __m512d v = _mm512_maskz_cvtepi32_pd(all, sum) * scale;
  const __m512d number = _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(v, v, _CMP_ORD_Q), v);
  const __m512d above = _mm512_maskz_max_pd(all, number, _mm512_set1_pd(row.lowest));
  const __m512d bounded = _mm512_maskz_min_pd(all, above, _mm512_set1_pd(row.highest));
  return _mm512_maskz_cvt_roundpd_epi32(all, bounded,
                                        _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// Returns how many were done.
template <bool Columns, bool Each>
std::int64_t requantize_vectors(std::uint8_t* y, const std::int32_t* sums, const RequantizeRow& row,
                                std::int64_t n) {
  const __m256i zero = _mm256_set1_epi32(row.zero_point);
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256i whole = _mm256_add_epi32(requantize_eight<Columns, Each>(sums, row, i), zero);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(y + i), _mm256_maskz_cvtepi32_epi8(0xff, whole));
  }
  return i;
}
#else
template <bool Columns, bool Each>
std::int64_t requantize_vectors(std::uint8_t*, const std::int32_t*, const RequantizeRow&,
                                std::int64_t) {
  return 0;
}
#endif

template <bool Columns, bool Each>
void requantize_as(std::uint8_t* __restrict y, const std::int32_t* __restrict sums,
                   const RequantizeRow& row, std::int64_t n) {
  const auto add = static_cast<std::uint32_t>(row.add);
  const double lowest = row.lowest;
  const double highest = row.highest;
  const auto zero = static_cast<std::int64_t>(row.zero_point);
  const std::int32_t* const columns = row.columns;
  const double* const scales = row.scale;
  const double scale = scales[0];
  for (std::int64_t i = requantize_vectors<Columns, Each>(y, sums, row, n); i < n; ++i) {
    std::uint32_t sum = static_cast<std::uint32_t>(sums[i]) + add;
    if (Columns) sum += static_cast<std::uint32_t>(columns[i]);
    double v = static_cast<double>(static_cast<std::int32_t>(sum)) * (Each ? scales[i] : scale);
    v = v == v ? v : 0;
    v = v < lowest ? lowest : v;
    v = v > highest ? highest : v;
    y[i] = static_cast<std::uint8_t>(__builtin_bit_cast(std::int64_t, v + wide_rounder) + zero);
  }
}

void requantize(std::uint8_t* y, const std::int32_t* sums, const RequantizeRow& row,
                std::int64_t n) {
  if (row.columns != nullptr) {
    return row.each ? requantize_as<true, true>(y, sums, row, n)
                    : requantize_as<true, false>(y, sums, row, n);
  }
  row.each ? requantize_as<false, true>(y, sums, row, n)
           : requantize_as<false, false>(y, sums, row, n);
}

}  // namespace

constinit const QuantizeKernels quantize_kernels = {
    &quantize<std::uint8_t>,
    &quantize<std::uint16_t>,
    &dequantize<std::uint8_t>,
    &dequantize<std::int8_t>,
    &dequantize<std::uint16_t>,
    &dequantize<std::int16_t>,
    &requantize,
};

}  // namespace ondine::math::ONDINE_ISA
