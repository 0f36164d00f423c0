#include "core/float_formats.h"

#include <cmath>
#include <limits>

namespace ondine {
namespace {

// A sign, an exponent and a mantissa. `largest` is the code of the largest finite number.
struct Format {
  int mantissa;
  int bias;
  std::uint8_t sign;
  std::uint8_t largest;
  std::uint8_t infinity;  // equal to `nan` where there is none
  std::uint8_t nan;
  bool unsigned_zero;  // fnuz: no -0, the one NaN has its code
};
constexpr Format e4m3fn{3, 7, 0x80, 0x7e, 0x7f, 0x7f, false};
constexpr Format e4m3fnuz{3, 8, 0x80, 0x7f, 0x80, 0x80, true};
constexpr Format e5m2{2, 15, 0x80, 0x7b, 0x7c, 0x7f, false};
constexpr Format e5m2fnuz{2, 16, 0x80, 0x7f, 0x80, 0x80, true};
constexpr Format e2m1{1, 1, 0x08, 0x07, 0x07, 0x07, false};

float magnitude(const Format& f, unsigned code) {
  const unsigned fraction = code & ((1U << f.mantissa) - 1);
  const int exponent = static_cast<int>(code >> f.mantissa);
  const unsigned digits = exponent == 0 ? fraction : fraction | 1U << f.mantissa;
  return std::ldexp(static_cast<float>(digits), std::max(exponent, 1) - f.bias - f.mantissa);
}

float decode(const Format& f, std::uint8_t code) {
  if (f.unsigned_zero && code == f.nan) return std::numeric_limits<float>::quiet_NaN();
  const unsigned rest = code & (f.sign - 1U);
  float value = rest <= f.largest ? magnitude(f, rest) : std::numeric_limits<float>::quiet_NaN();
  if (rest == f.infinity && f.infinity != f.nan) value = std::numeric_limits<float>::infinity();
  return (code & f.sign) != 0 ? -value : value;
}

std::uint8_t encode(const Format& f, double value, bool saturate) {
  const unsigned sign = std::signbit(value) ? f.sign : 0U;
  const unsigned signed_codes = f.unsigned_zero ? 0U : sign;
  if (std::isnan(value)) return static_cast<std::uint8_t>(f.nan | signed_codes);
  const double size = std::fabs(value);
  unsigned code = f.largest + 1U;
  if (std::isfinite(size)) {
    // The code counts quanta above the smallest exponent, so a carry moves to the next one.
    const int smallest = 1 - f.bias;
    const int exponent = size > 0 ? std::max(std::ilogb(size), smallest) : smallest;
    const double quanta = std::nearbyint(std::ldexp(size, f.mantissa - exponent));
    const int above = exponent - smallest;
    code = above < 64 ? (static_cast<unsigned>(above) << f.mantissa) + static_cast<unsigned>(quanta)
                      : f.largest + 1U;
  }
  if (code > f.largest) {
    if (!saturate) return static_cast<std::uint8_t>(f.infinity | signed_codes);
    code = f.largest;
  }
  if (code == 0) return static_cast<std::uint8_t>(signed_codes);
  return static_cast<std::uint8_t>(code | sign);
}

}  // namespace

float round_to_odd(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value)) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1U);
}

float to_float(float8e4m3fn value) noexcept { return decode(e4m3fn, value.bits); }
float to_float(float8e4m3fnuz value) noexcept { return decode(e4m3fnuz, value.bits); }
float to_float(float8e5m2 value) noexcept { return decode(e5m2, value.bits); }
float to_float(float8e5m2fnuz value) noexcept { return decode(e5m2fnuz, value.bits); }
float to_float(float4e2m1 value) noexcept { return decode(e2m1, value.bits); }
float to_float(float8e8m0 value) noexcept {
  if (value.bits == 0xff) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0F, value.bits - 127);
}

float8e4m3fn to_float8e4m3fn(double value, bool saturate) noexcept {
  return {encode(e4m3fn, value, saturate)};
}
float8e4m3fnuz to_float8e4m3fnuz(double value, bool saturate) noexcept {
  return {encode(e4m3fnuz, value, saturate)};
}
float8e5m2 to_float8e5m2(double value, bool saturate) noexcept {
  return {encode(e5m2, value, saturate)};
}
float8e5m2fnuz to_float8e5m2fnuz(double value, bool saturate) noexcept {
  return {encode(e5m2fnuz, value, saturate)};
}
float4e2m1 to_float4e2m1(double value) noexcept {
  if (std::isnan(value)) return {e2m1.sign};
  return {encode(e2m1, value, true)};
}

float8e8m0 to_float8e8m0(double value, bool saturate, RoundMode mode) noexcept {
  constexpr std::uint8_t nan = 0xff;
  if (std::isnan(value) || value < 0) return {nan};
  if (std::isinf(value)) return {saturate ? std::uint8_t{0xfe} : nan};
  if (value == 0) return {saturate ? std::uint8_t{0} : nan};
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent) * 2;  // in [1, 2)
  --exponent;
  const bool next =
      mode == RoundMode::up ? fraction > 1 : mode == RoundMode::nearest && fraction >= 1.5;
  if (next) ++exponent;
  if (exponent < -127 || (exponent == -127 && value < 0x1p-127)) {
    return {saturate ? std::uint8_t{0} : nan};
  }
  if (exponent > 127) return {saturate ? std::uint8_t{0xfe} : nan};
  return {static_cast<std::uint8_t>(exponent + 127)};
}

}  // namespace ondine
