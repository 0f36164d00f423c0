// Elements of tensors as double.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <ondine/tensor.h>

namespace ondine {

// Reads element i of the elements of a tensor as a double.
using ReadElement = double (*)(const void* elements, std::size_t i);

// nullptr for strings, complex numbers and undefined tensors. 64-bit integers are rounded; bool
// counts as 0 and 1.
ReadElement element_reader(DType dtype) noexcept;

// The elements in row-major order, 64-bit integers rounded; bool counts as 0 and 1. nullopt for
// strings, complex numbers and undefined tensors.
std::optional<std::vector<double>> to_doubles(const Tensor& tensor);

}  // namespace ondine
