// The storage formats of floating point numbers <-> float, round to nearest, ties to even. NaN
// stays NaN where the format has one.
#pragma once

#include <bit>
#include <cstdint>

#include <ondine/dtype.h>

namespace ondine {

inline float to_float(bfloat16 value) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

inline bfloat16 to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return {static_cast<std::uint16_t>(bits >> 16 | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16)};
}

inline float to_float(float16 value) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16;
  const std::uint32_t rest = value.bits & 0x7fffU;
  if (rest >= 0x7c00U) return std::bit_cast<float>(sign | 0x7f800000U | (rest & 0x3ffU) << 13);
  // Scaling by 2^112 moves the exponent to float's bias and makes subnormals normal.
  return std::bit_cast<float>(
      sign | std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest << 13) * 0x1p+112F));
}

inline float16 to_float16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const std::uint32_t rest = bits & 0x7fffffffU;
  std::uint32_t half = 0;
  if (rest > 0x7f800000U) {
    half = 0x7e00U | (rest >> 13 & 0x3ffU);
  } else if (rest >= 0x477ff000U) {  // rounds to 2^16 or above
    half = 0x7c00U;
  } else if (rest < 0x38800000U) {  // below 2^-14: the sum's low bits are the rounded subnormal
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) + 0.5F) - 0x3f000000U;
  } else {
    half = (rest - 0x38000000U + 0xfffU + (rest >> 13 & 1U)) >> 13;
  }
  return {static_cast<std::uint16_t>(sign | half)};
}

// A float whose rounding to any format of at most 22 bits of precision is that of `value`: cut off,
// with the last bit set when something was lost.
float round_to_odd(double value) noexcept;

float to_float(float8e4m3fn value) noexcept;
float to_float(float8e4m3fnuz value) noexcept;
float to_float(float8e5m2 value) noexcept;
float to_float(float8e5m2fnuz value) noexcept;
float to_float(float8e8m0 value) noexcept;
float to_float(float4e2m1 value) noexcept;

// Too large values and infinities become the largest finite number when `saturate`, else infinity
// or, where the format has none, NaN.
float8e4m3fn to_float8e4m3fn(double value, bool saturate) noexcept;
float8e4m3fnuz to_float8e4m3fnuz(double value, bool saturate) noexcept;
float8e5m2 to_float8e5m2(double value, bool saturate) noexcept;
float8e5m2fnuz to_float8e5m2fnuz(double value, bool saturate) noexcept;
// Always saturates; NaN becomes -0.
float4e2m1 to_float4e2m1(double value) noexcept;

enum class RoundMode : std::uint8_t { up, down, nearest };  // nearest: ties away from zero
// Powers of two. Zero and too small values become the smallest one when `saturate`, else NaN;
// negative values become NaN.
float8e8m0 to_float8e8m0(double value, bool saturate, RoundMode mode) noexcept;

}  // namespace ondine
