#include "trainer/fit/score/metric_values.h"

#include "core/message.h"
#include "core/to_doubles.h"

namespace ondine::fit {
namespace {

bool is_metric(DType dtype) {
  switch (dtype) {
    case DType::float32:
    case DType::float64:
    case DType::float16:
    case DType::bfloat16:
    case DType::int8:
    case DType::int16:
    case DType::int32:
    case DType::int64:
    case DType::uint8:
    case DType::uint16:
    case DType::uint32:
    case DType::uint64:
    case DType::boolean:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<double> metric_values(const Tensor& tensor) {
  if (!is_metric(tensor.dtype())) {
    fail(ErrorCode::mismatch, "metrics cannot be computed from tensors of ", tensor.dtype());
  }
  return *to_doubles(tensor);
}

double metric_value(const Tensor& tensor) {
  if (tensor.size() != 1) {
    fail(ErrorCode::mismatch, "a metric must be one number, it has shape ", tensor.shape());
  }
  return metric_values(tensor)[0];
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
