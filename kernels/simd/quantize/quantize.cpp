#include "kernels/simd/quantize/quantize_table.h"

#include "kernels/simd/isa_tables.h"
#include "kernels/simd/quantize/packed_rows.h"
#include "kernels/simd/quantize/quantized_rows.h"
#include "kernels/simd/quantize/requantize_vectors.h"
#include "kernels/simd/quantize/stored_product.h"
#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {
namespace {

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

template <bool Columns, bool Each>
void requantize_as(std::uint8_t* __restrict y, const std::int32_t* __restrict sums,
                   const RequantizeRow& row, std::int64_t n) {
  const RequantizeVectors to(row.lowest, row.highest, row.zero_point);
  const Vec<std::int32_t> add = broadcast(row.add);
  const Vec<float> scale = broadcast(row.scale[0]);
  for (std::int64_t i = 0; i < n; i += lanes<float>) {
    const std::int64_t left = n - i;
    Vec<std::int32_t> sum = wrapping_sum(load_int32(sums + i, left), add);
    if (Columns) sum = wrapping_sum(sum, load_int32(row.columns + i, left));
    Vec<float> factor = scale;
    if (Each) factor = left < lanes<float> ? load_n(row.scale + i, left) : load(row.scale + i);
    store_bytes(y + i, to.quantized(sum, factor), left);
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
    &row_to_bytes<float>,
    &row_to_bytes<std::uint16_t>,
    &round_row_to_bytes,
    &scale_sums,
    &add_quantized,
    &multiply_quantized,
    &look_up_bytes,
    &maximum_bytes,
    &unpack_4bits,
    &look_up_levels,
    &levels_to_bytes,
    &stored_product,
};

}  // namespace ondine::math::ONDINE_ISA
