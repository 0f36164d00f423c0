// Rows of quantized numbers. Every instruction set computes the same bits, but for sums of products
// of float32 (stored_product_table.h).
#pragma once

#include <cstdint>

#include "kernels/simd/elements.h"

namespace ondine::math {

struct StoredProductKernels;

// One scale and zero point for a row, or one for each of its elements.
struct QuantizeParameters {
  const float* scale;
  const float* zero_point;  // whole numbers
  bool each;
};

// Range of the results; at most 2^17 from every zero point.
struct QuantizeRange {
  float lowest, highest;
};

// Sums of products to quantized numbers.
struct RequantizeRow {
  std::int32_t add;             // to each sum
  const std::int32_t* columns;  // one for each sum, added too; may be null
  const float* scale;           // what multiplies sums: one for all or (each) one for each; finite
  bool each;
  float lowest, highest;  // of the results without the zero point; whole numbers within 2^17
  std::int32_t zero_point;
};

// Sums of products to floating point numbers: y = (sum + add) (row columns[j]) + bias[j], every
// step rounded.
struct ScaledRow {
  std::int32_t add;
  float row;
  const float* columns;  // null: 1
  const float* bias;     // null: 0
};

// Elements of 4 bits become bytes round((levels[x] scale) factor). There is one scale for all of
// them or (each) one for each, and likewise for factors.
struct LevelBytes {
  const float* levels;  // 16
  const float* scale;
  bool each_scale;
  const float* factor;
  bool each_factor;
};

// Parameters of two rows of quantized numbers. An element ^ flip is an unsigned number.
struct QuantizedPair {
  float scale_a, zero_point_a;  // of the unsigned numbers
  float scale_b, zero_point_b;
  std::uint8_t flip_a, flip_b;
  float scale;            // of the results
  float lowest, highest;  // of the results without the zero point
  std::int32_t zero_point;
  bool one_b;  // b is one element, for all of a
};

struct QuantizeKernels {
  // y = the low bits of saturate(round(x / scale) + zero_point), ties to even; NaN counts as 0.
  template <class Y>
  using Quantize = void (*)(Y* y, const float* x, const QuantizeParameters& parameters,
                            const QuantizeRange& range, std::int64_t n);
  Quantize<std::uint8_t> quantize_bytes;
  Quantize<std::uint16_t> quantize_words;

  // y = (x - zero_point) scale, rounded once.
  template <class X>
  using Dequantize = void (*)(float* y, const X* x, const QuantizeParameters& parameters,
                              std::int64_t n);
  Dequantize<std::uint8_t> dequantize_u8;
  Dequantize<std::int8_t> dequantize_i8;
  Dequantize<std::uint16_t> dequantize_u16;
  Dequantize<std::int16_t> dequantize_i16;

  // y = the low byte of saturate(round((sum + add + column) scale)) + zero point, ties to even, in
  // float: the sum and the product are rounded. Additions of integers wrap around.
  void (*requantize)(std::uint8_t* y, const std::int32_t* sums, const RequantizeRow& row,
                     std::int64_t n);

  // y = round(x factors[j] / scale), ties to even, where *scale is the largest magnitude of
  // x factors / 127. Returns the sum of y. `factors` may be null: 1. All y are 0, and the scale is
  // NaN, where a product is not finite, and 0 where all are below about 1e-36.
  template <class X>
  using ToBytes = std::int32_t (*)(std::int8_t* y, float* scale, const X* x, const float* factors,
                                   std::int64_t n);
  ToBytes<float> to_bytes;
  ToBytes<std::uint16_t> bf16_to_bytes;
  // y = round(x factor), ties to even, for products of at most 127.5 in magnitude. A factor for all
  // or (each) one for each.
  void (*round_to_bytes)(std::int8_t* y, const float* x, const float* factors, bool each,
                         std::int64_t n);
  void (*scale_sums)(Elements<float> y, const std::int32_t* sums, const ScaledRow& by,
                     std::int64_t n);

  // y = the quantized sum or product of the dequantized a and b, every step rounded as by operators
  // of its own.
  using Pair = void (*)(std::uint8_t* y, const std::uint8_t* a, const std::uint8_t* b,
                        const QuantizedPair& by, std::int64_t n);
  Pair add;
  Pair multiply;
  // y[i] = table[x[i]]
  void (*look_up)(std::uint8_t* y, const std::uint8_t* x, const std::uint8_t* table,
                  std::int64_t n);
  // y[j] = (the maximum of rows[r][j] ^ flip for r < count) ^ flip_back. y is none of the rows.
  void (*maximum)(std::uint8_t* y, const std::uint8_t* const* rows, std::int64_t count,
                  std::int64_t n, std::uint8_t flip, std::uint8_t flip_back);

  // The 4-bit elements of n bytes, the first in the low bits: each ^ sign - sign, so that a sign of
  // 8 extends that of signed elements and 0 leaves them as they are.
  void (*unpack_4bits)(std::uint8_t* y, const std::uint8_t* x, std::uint8_t sign, std::int64_t n);
  // y = levels[x] scale, rounded once; x < 16. A scale for all or (each) one for each.
  void (*look_up_levels)(float* y, const std::uint8_t* x, const float* levels, const float* scale,
                         bool each, std::int64_t n);
  // The first n of packed elements, every step rounded, the last to even; products are at most
  // 127.5 in magnitude.
  void (*levels_to_bytes)(std::int8_t* y, const std::uint8_t* packed, const LevelBytes& by,
                          std::int64_t n);
  const StoredProductKernels* stored_product;
};

}  // namespace ondine::math
