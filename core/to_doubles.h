// Elements of tensors as double.
#pragma once

#include <optional>
#include <vector>

#include <ondine/tensor.h>

namespace ondine {

// The elements in row-major order, 64-bit integers rounded; bool counts as 0 and 1. nullopt for
// strings, complex numbers and undefined tensors.
std::optional<std::vector<double>> to_doubles(const Tensor& tensor);

}  // namespace ondine
