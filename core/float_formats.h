// float16 and bfloat16 <-> float, round to nearest, ties to even. NaN stays NaN.
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

}  // namespace ondine
