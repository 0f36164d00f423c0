// Functions of the table in quantize.cpp.
#pragma once

#include "kernels/simd/quantize/quantize_table.h"

namespace ondine::math::ONDINE_ISA {

void add_quantized(std::uint8_t* y, const std::uint8_t* a, const std::uint8_t* b,
                   const QuantizedPair& by, std::int64_t n);
void multiply_quantized(std::uint8_t* y, const std::uint8_t* a, const std::uint8_t* b,
                        const QuantizedPair& by, std::int64_t n);
template <class X>
std::int32_t row_to_bytes(std::int8_t* y, float* scale, const X* x, const float* factors,
                          std::int64_t n);
void round_row_to_bytes(std::int8_t* y, const float* x, const float* factors, bool each,
                        std::int64_t n);
void levels_to_bytes(std::int8_t* y, const std::uint8_t* packed, const LevelBytes& by,
                     std::int64_t n);
void scale_sums(Elements<float> y, const std::int32_t* sums, const ScaledRow& by, std::int64_t n);
void look_up_bytes(std::uint8_t* y, const std::uint8_t* x, const std::uint8_t* table,
                   std::int64_t n);
void maximum_bytes(std::uint8_t* y, const std::uint8_t* const* rows, std::int64_t count,
                   std::int64_t n, std::uint8_t flip, std::uint8_t flip_back);

}  // namespace ondine::math::ONDINE_ISA
