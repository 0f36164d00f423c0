// Axes of images.
#pragma once

#include <cstdint>
#include <span>

namespace ondine::data {

// 1 (grey) or 3 (red, green, blue).
constexpr bool is_channels(std::int64_t dim) { return dim == 1 || dim == 3; }
// Whether a row is [H, W, C]. [C, H, W] is meant if both fit.
constexpr bool has_channels_last(std::span<const std::int64_t> row) {
  return !is_channels(row[0]) && is_channels(row[2]);
}

}  // namespace ondine::data
