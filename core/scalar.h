// Tensors of rank 0.
#pragma once

#include <ondine/tensor.h>

namespace ondine {

// `value` rounded to `dtype`: float32, float64, float16, bfloat16, int64, int32 or bool. Throws
// Error(internal) for other dtypes.
Tensor scalar_tensor(double value, DType dtype);

}  // namespace ondine
