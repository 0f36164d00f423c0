// The two orders in which MaxPool counts the elements of a plane.
#pragma once

#include <cstdint>

#include "kernels/simd/conv/spatial_dims.h"

namespace ondine::math {

// An offset in row-major order as one with the first spatial dim running fastest (storage_order 1).
inline std::int64_t to_column_major(const SpatialDims& in, std::int64_t offset) {
  const std::int64_t w = offset % in[2];
  const std::int64_t h = offset / in[2] % in[1];
  const std::int64_t d = offset / in[2] / in[1];
  return d + in[0] * (h + in[1] * w);
}

inline std::int64_t to_row_major(const SpatialDims& in, std::int64_t offset) {
  const std::int64_t d = offset % in[0];
  const std::int64_t h = offset / in[0] % in[1];
  const std::int64_t w = offset / in[0] / in[1];
  return (d * in[1] + h) * in[2] + w;
}

}  // namespace ondine::math
