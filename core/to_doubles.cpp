#include "core/to_doubles.h"

#include <algorithm>

#include "core/float_formats.h"

namespace ondine {
namespace {

template <class T>
std::vector<double> read(const Tensor& tensor) {
  const T* values = static_cast<const T*>(tensor.data());
  std::vector<double> result(static_cast<std::size_t>(tensor.size()));
  std::transform(values, values + result.size(), result.begin(), [](T value) {
    if constexpr (std::is_arithmetic_v<T>) {
      return static_cast<double>(value);
    } else {
      return static_cast<double>(to_float(value));
    }
  });
  return result;
}

}  // namespace

std::optional<std::vector<double>> to_doubles(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::float32:
      return read<float>(tensor);
    case DType::float64:
      return read<double>(tensor);
    case DType::float16:
      return read<float16>(tensor);
    case DType::bfloat16:
      return read<bfloat16>(tensor);
    case DType::float8e4m3fn:
      return read<float8e4m3fn>(tensor);
    case DType::float8e4m3fnuz:
      return read<float8e4m3fnuz>(tensor);
    case DType::float8e5m2:
      return read<float8e5m2>(tensor);
    case DType::float8e5m2fnuz:
      return read<float8e5m2fnuz>(tensor);
    case DType::float8e8m0:
      return read<float8e8m0>(tensor);
    case DType::float4e2m1:
      return read<float4e2m1>(tensor);
    case DType::uint8:
    case DType::uint4:  // 4-bit and 2-bit integers take a byte each, with their sign extended
    case DType::uint2:
      return read<std::uint8_t>(tensor);
    case DType::int8:
    case DType::int4:
    case DType::int2:
      return read<std::int8_t>(tensor);
    case DType::boolean:
      return read<bool>(tensor);
    case DType::uint16:
      return read<std::uint16_t>(tensor);
    case DType::int16:
      return read<std::int16_t>(tensor);
    case DType::uint32:
      return read<std::uint32_t>(tensor);
    case DType::int32:
      return read<std::int32_t>(tensor);
    case DType::uint64:
      return read<std::uint64_t>(tensor);
    case DType::int64:
      return read<std::int64_t>(tensor);
    case DType::string:
    case DType::complex64:
    case DType::complex128:
    case DType::undefined:
      break;
  }
  return std::nullopt;
}

}  // namespace ondine
