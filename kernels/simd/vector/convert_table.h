// Rows of 16-bit floating point numbers, as their bits, and of float32: core/float_formats.h on
// many elements. Rows do not overlap.
#pragma once

#include <cstdint>

namespace ondine::math {

struct ConvertKernels {
  void (*bfloat16_to_float)(float* dst, const std::uint16_t* src, std::int64_t n);
  void (*float_to_bfloat16)(std::uint16_t* dst, const float* src, std::int64_t n);
  void (*float16_to_float)(float* dst, const std::uint16_t* src, std::int64_t n);
  void (*float_to_float16)(std::uint16_t* dst, const float* src, std::int64_t n);
  // VectorKernels::add_rows of bfloat16.
  void (*add_bfloat16_rows)(float* dst, const std::uint16_t* src, std::int64_t rows,
                            std::int64_t cols, std::int64_t ld);
};

namespace avx512_bf16 {
// Replaces what an instruction does in a table of avx512, with the same results.
void round_by_instruction(ConvertKernels& table) noexcept;
}  // namespace avx512_bf16

}  // namespace ondine::math
