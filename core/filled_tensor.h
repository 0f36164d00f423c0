// Tensors whose elements a function gives.
#pragma once

#include <cstddef>

#include <ondine/tensor.h>

#include "core/float_formats.h"

namespace ondine {

// Element i in row-major order is value(i), a double, rounded to `dtype`: float64, float16,
// bfloat16 or float32.
template <class Value>
Tensor filled_tensor(const Shape& shape, DType dtype, const Value& value) {
  Tensor result(dtype, shape);
  const auto fill = [&](auto elements, const auto& round) {
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = round(value(i));
  };
  switch (dtype) {
    case DType::float64:
      fill(result.mutable_values<double>(), [](double one) { return one; });
      break;
    case DType::float16:
      fill(result.mutable_values<float16>(),
           [](double one) { return to_float16(static_cast<float>(one)); });
      break;
    case DType::bfloat16:
      fill(result.mutable_values<bfloat16>(),
           [](double one) { return to_bfloat16(static_cast<float>(one)); });
      break;
    default:
      fill(result.mutable_values<float>(), [](double one) { return static_cast<float>(one); });
  }
  return result;
}

}  // namespace ondine
