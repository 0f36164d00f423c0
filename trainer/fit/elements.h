// Elements of tensors of numbers as doubles.
#pragma once

#include <vector>

#include <ondine/tensor.h>

namespace ondine::fit {

// Error(mismatch) for types that are no usual numbers.
std::vector<double> to_doubles(const Tensor& tensor);
// Error(mismatch) unless there is exactly one.
double to_double(const Tensor& tensor);
// A scalar tensor of the type. Error(mismatch) that names the input.
Tensor to_scalar(DType dtype, double value, std::string_view input);

}  // namespace ondine::fit
