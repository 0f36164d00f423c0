// The spatial dims of convolutions and pools.
#pragma once

#include <array>
#include <cstdint>

namespace ondine::math {

// Depth, height, width; a lower rank has leading ones.
using SpatialDims = std::array<std::int64_t, 3>;

inline std::int64_t volume(const SpatialDims& dims) { return dims[0] * dims[1] * dims[2]; }

}  // namespace ondine::math
