// A row of pixels as floating point planes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "trainer/data/augment/draws.h"
#include "trainer/data/row_source.h"

namespace ondine::data {

struct PlaneLayout {
  std::int64_t channels = 1;
  std::int64_t height = 0;
  std::int64_t width = 0;
  bool channels_last = false;

  std::size_t area() const { return static_cast<std::size_t>(height * width); }
  std::size_t size() const { return static_cast<std::size_t>(channels) * area(); }
};

// Layout of the input, else of the column: [C, H, W] or [H, W, C] with 1 or 3 channels, or [H, W].
std::optional<PlaneLayout> plane_layout(const RowSource& source);

// Elements of a floating point type, unsigned bytes or int16.
bool has_planes(DType dtype) noexcept;
// Channel by channel.
void load_planes(const std::byte* row, DType dtype, const PlaneLayout& layout,
                 std::vector<float>& planes);
// Integers are rounded.
void store_planes(const std::vector<float>& planes, DType dtype, const PlaneLayout& layout,
                  std::byte* row);

// Shifts, turns, scales and flips; bilinear between pixels.
void move_planes(std::vector<float>& planes, const PlaneLayout& layout, const Draws& draws);
// Moves elements of any type likewise, taking the nearest position instead of interpolating.
void move_elements(std::byte* row, std::size_t element_bytes, const PlaneLayout& layout,
                   const Draws& draws);
// Brightness, contrast and saturation, in this order, each bounded to 0 .. white where that is
// known.
void change_colors(std::vector<float>& planes, const PlaneLayout& layout, const Draws& draws,
                   std::optional<double> white);
// Zeros in a square, as far as it lies in the image.
void cut_square(std::vector<float>& planes, const PlaneLayout& layout, const Draws& draws,
                std::int64_t side);

}  // namespace ondine::data
