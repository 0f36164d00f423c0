// Visiting the positions of a box of indices in row-major order, in one or two strided memories.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <ondine/shape.h>

namespace ondine::kernels {

struct BoxAxis {
  std::int64_t size;
  std::int64_t from;  // strides in elements
  std::int64_t to = 0;
};

inline std::int64_t box_size(std::span<const BoxAxis> axes) {
  std::int64_t n = 1;
  for (const BoxAxis& axis : axes) n *= axis.size;
  return n;
}

// At most max_axes axes, none of size 0.
class BoxWalk {
 public:
  static constexpr std::size_t max_axes = 2 * Shape::max_rank;

  // Starts at position `at` of the box.
  explicit BoxWalk(std::span<const BoxAxis> axes, std::int64_t at = 0) : axes_(axes) {
    for (std::size_t a = axes.size(); a-- > 0;) {
      index_[a] = at % axes[a].size;
      at /= axes[a].size;
      from += index_[a] * axes[a].from;
      to += index_[a] * axes[a].to;
    }
  }
  void next() {
    for (std::size_t a = axes_.size(); a-- > 0;) {
      from += axes_[a].from;
      to += axes_[a].to;
      if (++index_[a] < axes_[a].size) return;
      from -= axes_[a].size * axes_[a].from;
      to -= axes_[a].size * axes_[a].to;
      index_[a] = 0;
    }
  }
  std::int64_t index(std::size_t axis) const { return index_[axis]; }

  std::int64_t from = 0;  // offsets of the current position
  std::int64_t to = 0;

 private:
  std::span<const BoxAxis> axes_;
  std::array<std::int64_t, max_axes> index_;
};

}  // namespace ondine::kernels
