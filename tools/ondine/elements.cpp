#include "ondine/elements.h"

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>

namespace ondine::cli {
namespace {

template <class T>
T read(const void* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

// The meaning of the largest exponent of a small float.
enum class Top { infinities, one_nan, none };

// sign | exponent | mantissa, with subnormals. `unsigned_zero`: the encoding of -0 is NaN.
double small_float(unsigned bits, int exponent_bits, int mantissa_bits, int bias, Top top,
                   bool unsigned_zero = false) {
  const unsigned mantissa_mask = (1U << mantissa_bits) - 1;
  const unsigned exponent_mask = (1U << exponent_bits) - 1;
  const unsigned sign = bits >> (exponent_bits + mantissa_bits) & 1U;
  const unsigned exponent = bits >> mantissa_bits & exponent_mask;
  const unsigned mantissa = bits & mantissa_mask;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (unsigned_zero && sign == 1 && exponent == 0 && mantissa == 0) return nan;
  double value = 0;
  if (exponent == exponent_mask && top == Top::infinities) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity() : nan;
  } else if (exponent == exponent_mask && top == Top::one_nan && mantissa == mantissa_mask) {
    return nan;
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, 1 - bias - mantissa_bits);
  } else {
    value = std::ldexp(mantissa + (1U << mantissa_bits),
                       static_cast<int>(exponent) - bias - mantissa_bits);
  }
  return sign == 1 ? -value : value;
}

}  // namespace

double to_double(DType dtype, const void* data) {
  const auto byte = [&] { return unsigned{read<std::uint8_t>(data)}; };
  switch (dtype) {
    case DType::float32:
      return static_cast<double>(read<float>(data));
    case DType::float64:
      return read<double>(data);
    case DType::float16:
      return small_float(read<std::uint16_t>(data), 5, 10, 15, Top::infinities);
    case DType::bfloat16:
      return small_float(read<std::uint16_t>(data), 8, 7, 127, Top::infinities);
    case DType::float8e4m3fn:
      return small_float(byte(), 4, 3, 7, Top::one_nan);
    case DType::float8e4m3fnuz:
      return small_float(byte(), 4, 3, 8, Top::none, true);
    case DType::float8e5m2:
      return small_float(byte(), 5, 2, 15, Top::infinities);
    case DType::float8e5m2fnuz:
      return small_float(byte(), 5, 2, 16, Top::none, true);
    case DType::float4e2m1:
      return small_float(byte(), 2, 1, 1, Top::none);
    case DType::float8e8m0:
      return byte() == 0xff ? std::numeric_limits<double>::quiet_NaN()
                            : std::ldexp(1.0, static_cast<int>(byte()) - 127);
    case DType::uint8:
    case DType::uint4:
    case DType::uint2:
    case DType::boolean:
      return byte();
    case DType::int8:
    case DType::int4:
    case DType::int2:
      return read<std::int8_t>(data);
    case DType::uint16:
      return read<std::uint16_t>(data);
    case DType::int16:
      return read<std::int16_t>(data);
    case DType::uint32:
      return read<std::uint32_t>(data);
    case DType::int32:
      return read<std::int32_t>(data);
    case DType::uint64:
      return static_cast<double>(read<std::uint64_t>(data));
    case DType::int64:
      return static_cast<double>(read<std::int64_t>(data));
    case DType::complex64:
      return static_cast<double>(read<std::complex<float>>(data).real());
    case DType::complex128:
      return read<std::complex<double>>(data).real();
    case DType::string:
    case DType::undefined:
      break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace ondine::cli
