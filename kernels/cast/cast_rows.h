// Cast, CastLike and BitCast. This header: rows of any dtype to rows of any other: read as double,
// int64, uint64 or text, then converted and written. number_text.h: numbers as text.
#pragma once

#include "core/float_formats.h"
#include "kernels/elementwise/elementwise.h"

namespace ondine::kernels {

struct CastOptions {
  bool saturate = true;  // float8 formats
  RoundMode round = RoundMode::up;
};

// Between floats: rounded to nearest, ties to even, infinite when out of range but for saturating
// formats. Floats to integers: cut towards zero, saturating (below 8 bits: the low bits of that),
// NaN 0. Integers to integers: the low bits. To bool: not 0.
// Error(unsupported) for complex numbers.
Kernel bind_cast(const graph::BindContext& context, DType from, DType to, CastOptions options);

}  // namespace ondine::kernels
