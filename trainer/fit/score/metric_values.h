// Conversion between tensors and the numbers of metrics and inputs.
#pragma once

#include <vector>

#include <ondine/tensor.h>

namespace ondine::fit {

// The elements. Throws Error(mismatch) for strings, complex numbers, 8-bit floats and integers
// below 8 bits.
std::vector<double> metric_values(const Tensor& tensor);
// The only element. Throws Error(mismatch) unless there is exactly one.
double metric_value(const Tensor& tensor);
// A scalar tensor of the dtype. Throws Error(mismatch), naming the input, for unsupported dtypes.
Tensor to_scalar(DType dtype, double value, std::string_view input);

}  // namespace ondine::fit
