// Conversion of elements to an input's type.
#pragma once

#include <cstdint>

#include <ondine/dtype.h>

namespace ondine::data {

using RowCopy = void (*)(const void* from, void* to, std::int64_t count);

// nullptr when there is no conversion. Numbers with a fraction never become integers; unsigned
// bytes become 0..1 in floating point types.
RowCopy find_copy(DType from, DType to);

}  // namespace ondine::data
