#include "core/scalar.h"

#include "core/float_formats.h"
#include "core/message.h"

namespace ondine {

Tensor scalar_tensor(double value, DType dtype) {
  switch (dtype) {
    case DType::float32:
      return Tensor::scalar(static_cast<float>(value));
    case DType::float64:
      return Tensor::scalar(value);
    case DType::float16:
      return Tensor::scalar(to_float16(static_cast<float>(value)));
    case DType::bfloat16:
      return Tensor::scalar(to_bfloat16(static_cast<float>(value)));
    case DType::int64:
      return Tensor::scalar(static_cast<std::int64_t>(value));
    case DType::int32:
      return Tensor::scalar(static_cast<std::int32_t>(value));
    case DType::boolean:
      return Tensor::scalar(value != 0);
    default:
      fail(ErrorCode::internal, "no scalar constant of dtype ", dtype);
  }
}

}  // namespace ondine
