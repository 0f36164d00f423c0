// Reading single elements of any numeric type.
#pragma once

#include <ondine/dtype.h>

namespace ondine::cli {

// The element at `data`; complex numbers: their real part. NaN for types that
// are no numbers.
double to_double(DType dtype, const void* data);

}  // namespace ondine::cli
