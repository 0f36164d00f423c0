// Shifts, rotations, scaling and flips.
#include <cmath>

#include "trainer/data/augment/planes.h"

namespace ondine::data {
namespace {

// Where an output position comes from.
class Origin {
 public:
  Origin(const PlaneLayout& layout, const Draws& draws)
      : layout_(layout),
        draws_(draws),
        cosine_(std::cos(draws.angle) / draws.scale),
        sine_(std::sin(draws.angle) / draws.scale),
        center_x_(static_cast<double>(layout.width - 1) / 2),
        center_y_(static_cast<double>(layout.height - 1) / 2),
        is_exact_(draws.angle == 0 && draws.scale == 1) {}

  struct Point {
    double x;
    double y;
  };
  Point of(std::int64_t x, std::int64_t y) const {
    if (draws_.flip_x) x = layout_.width - 1 - x;
    if (draws_.flip_y) y = layout_.height - 1 - y;
    const auto shifted_x = static_cast<double>(x - draws_.shift_x);
    const auto shifted_y = static_cast<double>(y - draws_.shift_y);
    if (is_exact_) return {shifted_x, shifted_y};
    const double from_x = static_cast<double>(x) - center_x_;
    const double from_y = static_cast<double>(y) - center_y_;
    return {cosine_ * from_x + sine_ * from_y + center_x_ - static_cast<double>(draws_.shift_x),
            cosine_ * from_y - sine_ * from_x + center_y_ - static_cast<double>(draws_.shift_y)};
  }

  bool changes_nothing() const {
    return is_exact_ && !draws_.flip_x && !draws_.flip_y && draws_.shift_x == 0 &&
           draws_.shift_y == 0;
  }

 private:
  PlaneLayout layout_;
  Draws draws_;
  double cosine_;
  double sine_;
  double center_x_;
  double center_y_;
  bool is_exact_;
};

// The weights of up to four pixels around a point; those outside the image are left out.
struct Tap {
  std::size_t pixel;
  float weight;
};

std::size_t find_taps(const Origin::Point& point, const PlaneLayout& layout, Tap* taps) {
  const double left = std::floor(point.x);
  const double top = std::floor(point.y);
  std::size_t count = 0;
  for (int dy = 0; dy < 2; ++dy) {
    for (int dx = 0; dx < 2; ++dx) {
      const double x = left + dx;
      const double y = top + dy;
      const double weight = (1 - std::abs(point.x - x)) * (1 - std::abs(point.y - y));
      if (weight == 0 || x < 0 || y < 0 || x > static_cast<double>(layout.width - 1) ||
          y > static_cast<double>(layout.height - 1)) {
        continue;
      }
      const auto pixel = static_cast<std::size_t>(y) * static_cast<std::size_t>(layout.width) +
                         static_cast<std::size_t>(x);
      taps[count++] = {pixel, static_cast<float>(weight)};
    }
  }
  return count;
}

}  // namespace

void move_planes(std::vector<float>& planes, const PlaneLayout& layout, const Draws& draws) {
  const Origin origin(layout, draws);
  if (origin.changes_nothing()) return;
  std::vector<float> result(planes.size());
  std::size_t pixel = 0;
  for (std::int64_t y = 0; y < layout.height; ++y) {
    for (std::int64_t x = 0; x < layout.width; ++x, ++pixel) {
      Tap taps[4];
      const std::size_t count = find_taps(origin.of(x, y), layout, taps);
      for (std::size_t plane = 0; plane < planes.size(); plane += layout.area()) {
        float sum = 0;
        for (std::size_t i = 0; i < count; ++i) {
          sum += taps[i].weight * planes[plane + taps[i].pixel];
        }
        result[plane + pixel] = sum;
      }
    }
  }
  planes.swap(result);
}

void move_elements(std::byte* row, std::size_t element_bytes, const PlaneLayout& layout,
                   const Draws& draws) {
  const Origin origin(layout, draws);
  if (origin.changes_nothing()) return;
  const auto channels = static_cast<std::size_t>(layout.channels);
  const std::vector<std::byte> from(row, row + layout.size() * element_bytes);
  std::fill_n(row, from.size(), std::byte{0});
  std::size_t pixel = 0;
  for (std::int64_t y = 0; y < layout.height; ++y) {
    for (std::int64_t x = 0; x < layout.width; ++x, ++pixel) {
      const Origin::Point point = origin.of(x, y);
      const double near_x = std::floor(point.x + 0.5);
      const double near_y = std::floor(point.y + 0.5);
      if (near_x < 0 || near_y < 0 || near_x > static_cast<double>(layout.width - 1) ||
          near_y > static_cast<double>(layout.height - 1)) {
        continue;
      }
      const auto near = static_cast<std::size_t>(near_y) * static_cast<std::size_t>(layout.width) +
                        static_cast<std::size_t>(near_x);
      for (std::size_t c = 0; c < channels; ++c) {
        const auto at = [&](std::size_t one) {
          return (layout.channels_last ? one * channels + c : c * layout.area() + one) *
                 element_bytes;
        };
        std::copy_n(from.data() + at(near), element_bytes, row + at(pixel));
      }
    }
  }
}

}  // namespace ondine::data
