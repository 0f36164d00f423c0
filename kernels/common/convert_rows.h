// Rows of one element type to rows of another.
#pragma once

#include <cstdint>

#include <ondine/dtype.h>

namespace ondine::kernels {

// n contiguous elements; the rows do not overlap.
using ConvertRow = void (*)(void* dst, const void* src, std::int64_t n);

// From any float or integer format or bool. Error(unsupported) for others.
ConvertRow row_to_float(DType from);
ConvertRow row_to_double(DType from);
ConvertRow row_to_int64(DType from);  // integers and bool
// To any float format, float8 and narrower saturating.
ConvertRow row_from_float(DType to);

// One element: floats are rounded, integers cut towards zero and saturated, NaN as an integer is 0.
using StoreNumber = void (*)(void* dst, std::int64_t at, double x);
// For all of Numbers; Error(unsupported) for others.
StoreNumber store_number(DType to);

// Conversions between float32 and the 16-bit formats, whose types are known at compile time.
void convert_row(float* dst, const bfloat16* src, std::int64_t n);
void convert_row(float* dst, const float16* src, std::int64_t n);
void convert_row(bfloat16* dst, const float* src, std::int64_t n);
void convert_row(float16* dst, const float* src, std::int64_t n);

}  // namespace ondine::kernels
