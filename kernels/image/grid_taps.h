// GridSample reads the pixels around each point: their weights, and the derivatives of these by the
// coordinates.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/parallel.h"
#include "core/stop.h"
#include "graph/contract/node_view.h"

namespace ondine::kernels {

enum class GridMode : std::uint8_t { nearest, linear, cubic };
enum class GridPadding : std::uint8_t { zeros, border, reflection };

struct Sampling {
  GridMode mode = GridMode::linear;
  GridPadding padding = GridPadding::zeros;
  bool align_corners = false;

  // Error(invalid_model) for an unknown mode or padding_mode.
  explicit Sampling(const graph::NodeView& node);
};

// Along one axis; `slope` and `curve` are the derivatives of the weights by the coordinate.
struct Taps {
  int count = 0;
  std::array<std::int64_t, 4> index{};
  std::array<double, 4> weight{};
  std::array<double, 4> slope{};
  std::array<double, 4> curve{};
};
Taps taps(const Sampling& sampling, double coordinate, std::int64_t size);

// x [batch, channels, in...] and grid [batch, points..., axes].
struct SampledDims {
  std::int64_t batch, channels, points;
  std::size_t axes;
  std::vector<std::int64_t> in;
  std::int64_t plane = 1;

  // Error(mismatch) when there are points in an empty image.
  SampledDims(const Shape& x, const Shape& grid);

  // The element of the grid that is the coordinate of point p of image n along an axis of x. A
  // point's coordinates are stored with the last axis first.
  std::int64_t coordinate(std::int64_t n, std::int64_t p, std::size_t axis) const {
    return (n * points + p + 1) * static_cast<std::int64_t>(axes) - 1 -
           static_cast<std::int64_t>(axis);
  }
};

// One pixel that a point reads.
struct SampledPixel {
  std::int64_t offset;  // in the plane
  double weight;
  std::array<double, 3> slope;  // by axis of x
  std::array<std::array<double, 3>, 3> curve;
};

// Calls body(pixel) for every pixel that a point reads. `at` are its coordinates, the last axis of
// x first.
template <class Body>
void for_pixels(const Sampling& sampling, const SampledDims& e, const double* at, Body&& body) {
  std::array<Taps, 3> t;
  int combinations = 1;
  for (std::size_t axis = 0; axis < e.axes; ++axis) {
    t[axis] = taps(sampling, at[e.axes - 1 - axis], e.in[axis]);
    combinations *= t[axis].count;
  }
  checkpoint(combinations * (32 + 2 * e.channels));
  for (int k = 0; k < combinations; ++k) {
    int rest = k;
    SampledPixel pixel{0, 1, {1, 1, 1}, {}};
    for (auto& row : pixel.curve) row = {1, 1, 1};
    for (std::size_t axis = 0; axis < e.axes; ++axis) {
      const auto i = static_cast<std::size_t>(rest % t[axis].count);
      rest /= t[axis].count;
      pixel.offset = pixel.offset * e.in[axis] + t[axis].index[i];
      pixel.weight *= t[axis].weight[i];
      for (std::size_t a = 0; a < e.axes; ++a) {
        pixel.slope[a] *= a == axis ? t[axis].slope[i] : t[axis].weight[i];
        for (std::size_t b = 0; b < e.axes; ++b) {
          const int order = (a == axis ? 1 : 0) + (b == axis ? 1 : 0);
          pixel.curve[a][b] *= order == 2   ? t[axis].curve[i]
                               : order == 1 ? t[axis].slope[i]
                                            : t[axis].weight[i];
        }
      }
    }
    body(pixel);
  }
}

// Calls body(n, p, pixel) for every pixel that each point p of each image n reads. The points of an
// image run on one thread, in order.
template <class Body>
void for_all_pixels(ThreadPool& pool, const Sampling& sampling, const SampledDims& e,
                    const double* grid, Body&& body) {
  pool.for_chunks(e.batch, 1, [&](std::int64_t first, std::int64_t last) {
    for (auto n = first; n < last; ++n) {
      for (std::int64_t p = 0; p < e.points; ++p) {
        const double* at = grid + (n * e.points + p) * static_cast<std::int64_t>(e.axes);
        for_pixels(sampling, e, at, [&](const SampledPixel& pixel) { body(n, p, pixel); });
      }
    }
  });
}

}  // namespace ondine::kernels
