#include "core/to_doubles.h"

#include <type_traits>

#include "core/float_formats.h"

namespace ondine {
namespace {

template <class T>
double read(const void* elements, std::size_t i) {
  const T value = static_cast<const T*>(elements)[i];
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return static_cast<double>(to_float(value));
  }
}

}  // namespace

ReadElement element_reader(DType dtype) noexcept {
  switch (dtype) {
    case DType::float32:
      return read<float>;
    case DType::float64:
      return read<double>;
    case DType::float16:
      return read<float16>;
    case DType::bfloat16:
      return read<bfloat16>;
    case DType::float8e4m3fn:
      return read<float8e4m3fn>;
    case DType::float8e4m3fnuz:
      return read<float8e4m3fnuz>;
    case DType::float8e5m2:
      return read<float8e5m2>;
    case DType::float8e5m2fnuz:
      return read<float8e5m2fnuz>;
    case DType::float8e8m0:
      return read<float8e8m0>;
    case DType::float4e2m1:
      return read<float4e2m1>;
    case DType::uint8:
    case DType::uint4:  // 4-bit and 2-bit integers take a byte each, with their sign extended
    case DType::uint2:
      return read<std::uint8_t>;
    case DType::int8:
    case DType::int4:
    case DType::int2:
      return read<std::int8_t>;
    case DType::boolean:
      return read<bool>;
    case DType::uint16:
      return read<std::uint16_t>;
    case DType::int16:
      return read<std::int16_t>;
    case DType::uint32:
      return read<std::uint32_t>;
    case DType::int32:
      return read<std::int32_t>;
    case DType::uint64:
      return read<std::uint64_t>;
    case DType::int64:
      return read<std::int64_t>;
    case DType::string:
    case DType::complex64:
    case DType::complex128:
    case DType::undefined:
      break;
  }
  return nullptr;
}

std::optional<std::vector<double>> to_doubles(const Tensor& tensor) {
  const ReadElement read = element_reader(tensor.dtype());
  if (read == nullptr) return std::nullopt;
  std::vector<double> result(static_cast<std::size_t>(tensor.size()));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = read(tensor.data(), i);
  return result;
}

}  // namespace ondine
