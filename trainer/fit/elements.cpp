#include "trainer/fit/elements.h"

#include <algorithm>

#include "core/float_formats.h"
#include "core/message.h"

namespace ondine::fit {
namespace {

template <class T>
std::vector<double> read(const Tensor& tensor) {
  const auto values = tensor.values<T>();
  std::vector<double> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), [](T value) {
    if constexpr (std::is_arithmetic_v<T>) {
      return static_cast<double>(value);
    } else {
      return static_cast<double>(to_float(value));
    }
  });
  return result;
}

}  // namespace

std::vector<double> to_doubles(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::float32:
      return read<float>(tensor);
    case DType::float64:
      return read<double>(tensor);
    case DType::float16:
      return read<float16>(tensor);
    case DType::bfloat16:
      return read<bfloat16>(tensor);
    case DType::int8:
      return read<std::int8_t>(tensor);
    case DType::int16:
      return read<std::int16_t>(tensor);
    case DType::int32:
      return read<std::int32_t>(tensor);
    case DType::int64:
      return read<std::int64_t>(tensor);
    case DType::uint8:
      return read<std::uint8_t>(tensor);
    case DType::uint16:
      return read<std::uint16_t>(tensor);
    case DType::uint32:
      return read<std::uint32_t>(tensor);
    case DType::uint64:
      return read<std::uint64_t>(tensor);
    case DType::boolean:
      return read<bool>(tensor);
    default:
      fail(ErrorCode::mismatch, "a tensor of ", tensor.dtype(), " is no metric");
  }
}

double to_double(const Tensor& tensor) {
  if (tensor.size() != 1) fail(ErrorCode::mismatch, "a metric has shape ", tensor.shape());
  return to_doubles(tensor)[0];
}

Tensor to_scalar(DType dtype, double value, std::string_view input) {
  switch (dtype) {
    case DType::float32:
      return Tensor::scalar(static_cast<float>(value));
    case DType::float64:
      return Tensor::scalar(value);
    case DType::int64:
      return Tensor::scalar(static_cast<std::int64_t>(value));
    case DType::int32:
      return Tensor::scalar(static_cast<std::int32_t>(value));
    default:
      fail(ErrorCode::mismatch, "input ", quoted(input), " of type ", dtype,
           " cannot be set to a number");
  }
}

}  // namespace ondine::fit
