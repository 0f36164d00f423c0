// Elements of any numeric dtype as double. The decoder is independent of the library's, so that
// `verify` can detect errors in it.
#pragma once

#include <ondine/dtype.h>

namespace ondine::cli {

// The element at `data`, the real part of a complex number. NaN for types that are not numeric.
double to_double(DType dtype, const void* data);

}  // namespace ondine::cli
