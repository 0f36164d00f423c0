// Rows of channels, each the planes of some images side by side, as a product reads or writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ondine::math {

// Planes are [images, channels, plane] elements of `element` bytes; from one row to the next there
// are `row` elements.
struct PlaneRows {
  std::int64_t images, channels, plane;
  std::int64_t element;
  std::int64_t row = images * plane;

  std::size_t bytes(std::int64_t elements) const {
    return static_cast<std::size_t>(elements * element);
  }
  std::size_t offset(std::int64_t image, std::int64_t channel) const {
    return bytes((image * channels + channel) * plane);
  }
};

// The rows of `count` channels from `first` on, from planes and back.
inline void join_rows(const PlaneRows& p, const void* planes, std::int64_t first,
                      std::int64_t count, void* rows) {
  const auto* const from = static_cast<const std::byte*>(planes);
  auto* const to = static_cast<std::byte*>(rows);
  for (std::int64_t c = 0; c < count; ++c) {
    for (std::int64_t image = 0; image < p.images; ++image) {
      std::memcpy(to + p.bytes(c * p.row + image * p.plane), from + p.offset(image, first + c),
                  p.bytes(p.plane));
    }
  }
}
inline void part_rows(const PlaneRows& p, const void* rows, std::int64_t first, std::int64_t count,
                      void* planes) {
  const auto* const from = static_cast<const std::byte*>(rows);
  auto* const to = static_cast<std::byte*>(planes);
  for (std::int64_t c = 0; c < count; ++c) {
    for (std::int64_t image = 0; image < p.images; ++image) {
      std::memcpy(to + p.offset(image, first + c), from + p.bytes(c * p.row + image * p.plane),
                  p.bytes(p.plane));
    }
  }
}

}  // namespace ondine::math
