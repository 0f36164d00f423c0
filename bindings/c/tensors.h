// Tensors of memory that the caller gives.
#pragma once

#include <cstdint>
#include <memory>

#include <ondine/tensor.h>

namespace ondine::c {

Shape shape_of(std::size_t rank, const std::int64_t* dims);

// Throws Error(mismatch) unless `dtype` is an element type with elements of plain bytes.
DType plain_dtype(int dtype);

// Throws Error(mismatch) where the elements are missing, not aligned, or hold bytes that the type
// does not allow.
void check_elements(DType dtype, const Shape& shape, const void* data);

}  // namespace ondine::c
