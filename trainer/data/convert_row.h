// Conversion of elements to an input's type.
#pragma once

#include <cstdint>

#include <ondine/dtype.h>

namespace ondine::data {

// Returns `count`, or the position of the first element that the other type cannot hold: an integer
// out of its range, or a finite number that becomes infinite.
using RowCopy = std::int64_t (*)(const void* from, void* to, std::int64_t count);

// nullptr when there is no conversion. Integers and Booleans become integers of 32 and 64 bits,
// they and floating point numbers become floating point numbers, rounded to the nearest.
RowCopy find_copy(DType from, DType to);
// Unsigned bytes 0..255 to 0..1 in a floating point type; nullptr for other types.
RowCopy find_pixel_copy(DType to);
// To integers and Booleans of any size, for elements that keep their values: 1.0 becomes 1, 0.5 is
// one that the type cannot hold. nullptr where one of the types is no number.
RowCopy find_exact_copy(DType from, DType to);

}  // namespace ondine::data
