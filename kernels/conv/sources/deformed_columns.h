// The positions that DeformConv reads: window elements moved by offsets, and the pixels around
// them. Shared by DeformColumns and its derivatives, all in double.
#pragma once

#include <cmath>

#include "core/stop.h"
#include "graph/contract/kernel.h"
#include "kernels/common/window/sliding_window.h"

namespace ondine::kernels {

// An integer attribute that must be 1 or more. Error(mismatch) below.
std::int64_t count_attribute(const graph::NodeView& node, std::string_view name);

struct DeformedColumns {
  // Reads a node whose inputs from `first` on are x, offset, mask (may be omitted) and the two
  // kernel dims. Error(mismatch) if they do not fit, Error(unsupported) for unknown kernel dims.
  DeformedColumns(const graph::BindContext& context, std::size_t first);

  // Error(mismatch) unless `shape` has as many elements as the columns.
  void check_columns(const Shape& shape) const;

  std::int64_t kernel() const noexcept { return kernel_h * kernel_w; }
  std::int64_t outputs() const noexcept { return out_h * out_w; }
  std::int64_t plane() const noexcept { return height * width; }
  std::int64_t size() const noexcept { return batch * channels * kernel() * outputs(); }
  // Window elements of all outputs: elements of the mask, half of those of the offsets.
  std::int64_t points() const noexcept { return batch * groups * kernel() * outputs(); }

  std::int64_t batch, channels, groups, height, width, kernel_h, kernel_w, out_h, out_w;
  WindowAxis vertical, horizontal;
};

// One window element of one output in one offset group.
struct DeformedPoint {
  double row, column;              // where it lies in the image
  std::int64_t by_row, by_column;  // its elements of the offsets
  std::int64_t mask;               // its element of the mask
  std::int64_t first_plane;        // of the images, of its offset group
  std::int64_t window_element, output;
};

// body(point) for all of them; the points of an offset group of an image run on one thread.
template <class Body>
void for_points(ThreadPool& pool, const DeformedColumns& c, const double* offset,
                const Body& body) {
  pool.for_chunks(c.batch * c.groups, 1, [&](std::int64_t first, std::int64_t last) {
    for (auto group = first; group < last; ++group) {
      for (std::int64_t k = 0; k < c.kernel(); ++k) {
        for (std::int64_t o = 0; o < c.outputs(); ++o) {
          const std::int64_t element = group * c.kernel() + k;
          const std::int64_t i = o / c.out_w * c.vertical.stride - c.vertical.begin +
                                 k / c.kernel_w * c.vertical.dilation;
          const std::int64_t j = o % c.out_w * c.horizontal.stride - c.horizontal.begin +
                                 k % c.kernel_w * c.horizontal.dilation;
          DeformedPoint p{};
          p.by_row = 2 * element * c.outputs() + o;
          p.by_column = p.by_row + c.outputs();
          p.row = static_cast<double>(i) + offset[p.by_row];
          p.column = static_cast<double>(j) + offset[p.by_column];
          p.mask = element * c.outputs() + o;
          p.first_plane = group * (c.channels / c.groups);
          p.window_element = k;
          checkpoint(16 + 32 * (c.channels / c.groups));
          p.output = o;
          body(p);
        }
      }
    }
  });
}

// body(element of the image where its plane starts, element of the columns) for each channel of the
// point's offset group.
template <class Body>
void for_channels(const DeformedColumns& c, const DeformedPoint& p, const Body& body) {
  for (std::int64_t s = 0; s < c.channels / c.groups; ++s) {
    const std::int64_t plane = p.first_plane + s;
    body(plane * c.plane(), (plane * c.kernel() + p.window_element) * c.outputs() + p.output);
  }
}

// One of the four pixels around a point: its weight and the derivatives of that by row and column.
struct DeformedPixel {
  std::int64_t at;  // in the plane
  double weight, by_row, by_column, by_both;
};

template <class Body>
void for_pixels(const DeformedColumns& c, const DeformedPoint& p, const Body& body) {
  const bool outside = !(p.row > -1 && p.column > -1 && p.row < static_cast<double>(c.height) &&
                         p.column < static_cast<double>(c.width));
  if (outside) return;
  const double top = std::floor(p.row);
  const double left = std::floor(p.column);
  const double v = p.row - top;
  const double h = p.column - left;
  for (int k = 0; k < 4; ++k) {
    const bool low = k >= 2;
    const bool right = k % 2 == 1;
    const std::int64_t i = static_cast<std::int64_t>(top) + (low ? 1 : 0);
    const std::int64_t j = static_cast<std::int64_t>(left) + (right ? 1 : 0);
    if (i < 0 || j < 0 || i >= c.height || j >= c.width) continue;
    const double wv = low ? v : 1 - v;
    const double wh = right ? h : 1 - h;
    body(DeformedPixel{i * c.width + j, wv * wh, low ? wh : -wh, right ? wv : -wv,
                       low == right ? 1.0 : -1.0});
  }
}

}  // namespace ondine::kernels
