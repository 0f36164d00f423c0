// Interpolation along one axis: every output coordinate as a weighted sum of input elements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/contract/node_view.h"

namespace ondine::kernels {

enum class Interpolation : std::uint8_t { nearest, linear, cubic };
enum class Coordinates : std::uint8_t {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  tf_half_pixel_for_nn,
  tf_crop_and_resize,
};
enum class Rounding : std::uint8_t { prefer_floor, prefer_ceil, floor, ceil };

struct ResizeMode {
  Interpolation interpolation = Interpolation::nearest;
  Coordinates coordinates = Coordinates::half_pixel;
  Rounding rounding = Rounding::prefer_floor;
  double cubic_a = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
  double extrapolation = 0;
};
ResizeMode read_resize_mode(const graph::NodeView& node);

struct AxisMap {
  struct Tap {
    std::int64_t index;
    double weight;
  };
  std::int64_t in = 1;
  std::vector<std::size_t> first;  // taps of output o: [first[o], first[o + 1])
  std::vector<Tap> taps;
  std::vector<bool> outside;  // takes the extrapolation value

  std::int64_t out() const noexcept { return static_cast<std::int64_t>(first.size()) - 1; }
};

// `scale` is the ratio asked for; roi_start and roi_end are used by tf_crop_and_resize alone.
AxisMap axis_map(const ResizeMode& mode, std::int64_t in, std::int64_t out, double scale,
                 double roi_start, double roi_end);

}  // namespace ondine::kernels
