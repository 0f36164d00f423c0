// Changes of colours, and squares cut out.
#include <algorithm>
#include <cmath>

#include "trainer/data/augment/planes.h"

namespace ondine::data {
namespace {

void bound(std::vector<float>& planes, std::optional<double> white) {
  if (!white) return;
  const auto top = static_cast<float>(*white);
  for (float& value : planes) value = std::clamp(value, 0.0F, top);
}

// Luma of ITU-R BT.601; of one channel the channel itself.
float grey(const std::vector<float>& planes, std::size_t area, std::size_t pixel) {
  if (planes.size() != 3 * area) return planes[pixel];
  return 0.299F * planes[pixel] + 0.587F * planes[area + pixel] + 0.114F * planes[2 * area + pixel];
}

// Each value v becomes around + factor (v - around).
float stretched(float value, float around, float factor) {
  return around + factor * (value - around);
}

}  // namespace

void change_colors(std::vector<float>& planes, const PlaneLayout& layout, const Draws& draws,
                   std::optional<double> white) {
  const std::size_t area = layout.area();
  if (draws.brightness != 1) {
    for (float& value : planes) value *= static_cast<float>(draws.brightness);
    bound(planes, white);
  }
  if (draws.contrast != 1) {
    double sum = 0;
    for (std::size_t p = 0; p < area; ++p) sum += static_cast<double>(grey(planes, area, p));
    const auto mean = static_cast<float>(sum / static_cast<double>(area));
    const auto factor = static_cast<float>(draws.contrast);
    for (float& value : planes) value = stretched(value, mean, factor);
    bound(planes, white);
  }
  if (draws.saturation != 1 && layout.channels == 3) {
    const auto factor = static_cast<float>(draws.saturation);
    for (std::size_t p = 0; p < area; ++p) {
      const float around = grey(planes, area, p);
      for (std::size_t at = p; at < planes.size(); at += area) {
        planes[at] = stretched(planes[at], around, factor);
      }
    }
    bound(planes, white);
  }
}

void cut_square(std::vector<float>& planes, const PlaneLayout& layout, const Draws& draws,
                std::int64_t side) {
  const auto first = [&](double at, std::int64_t size) {
    return static_cast<std::int64_t>(at * static_cast<double>(size)) - side / 2;
  };
  const std::int64_t left = first(draws.cut_x, layout.width);
  const std::int64_t top = first(draws.cut_y, layout.height);
  for (std::size_t plane = 0; plane < planes.size(); plane += layout.area()) {
    for (std::int64_t y = std::max<std::int64_t>(top, 0); y < std::min(top + side, layout.height);
         ++y) {
      for (std::int64_t x = std::max<std::int64_t>(left, 0);
           x < std::min(left + side, layout.width); ++x) {
        planes[plane + static_cast<std::size_t>(y * layout.width + x)] = 0;
      }
    }
  }
}

}  // namespace ondine::data
