// How sizes are cut.
#pragma once

#include <cstdint>

#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {

ONDINE_INLINE std::int64_t min_of(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
ONDINE_INLINE std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
// Chunks of nearly the same size, none larger than `max`.
ONDINE_INLINE std::int64_t even_chunk(std::int64_t n, std::int64_t max) {
  return divide_up(n, divide_up(n, max));
}

}  // namespace ondine::math::ONDINE_ISA
