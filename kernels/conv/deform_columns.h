// Where DeformConv reads: window elements moved by offsets, and the pixels around them.
#pragma once

#include <cmath>

#include "graph/contract/kernel.h"
#include "kernels/common/sliding_window.h"

namespace ondine::kernels {

// An attribute that counts something. Error(mismatch) below 1.
inline std::int64_t count_attribute(const graph::NodeView& node, const char* name) {
  const std::int64_t count = node.attr_int(name, 1);
  if (count < 1) {
    fail(ErrorCode::mismatch, std::string_view(name), " is ", count, ", must be 1 or more");
  }
  return count;
}

struct DeformedColumns {
  std::int64_t batch, channels, groups, height, width, kernel_h, kernel_w, out_h, out_w;
  WindowAxis vertical, horizontal;

  DeformedColumns(const graph::NodeView& node, const Shape& x, const Shape& offset,
                  std::span<const std::int64_t> kernel)
      : batch(x[0]),
        channels(x[1]),
        groups(count_attribute(node, "offset_group")),
        height(x[2]),
        width(x[3]),
        kernel_h(kernel[0]),
        kernel_w(kernel[1]),
        out_h(offset[2]),
        out_w(offset[3]) {
    const Window window = read_window(node, kernel);
    vertical = window.axes[0];
    horizontal = window.axes[1];
    if (channels % groups != 0 || offset[0] != batch ||
        offset[1] != 2 * groups * kernel_h * kernel_w) {
      fail(ErrorCode::mismatch, "offset ", offset, " does not fit x ", x);
    }
  }
  // The mask, input i where there is one, has an element for each one of the windows.
  void check_mask(const graph::BindContext& context, std::size_t i) const {
    if (!context.has_input(i)) return;
    const Shape needed{batch, groups * kernel(), out_h, out_w};
    if (!(context.shape(i) == needed)) {
      fail(ErrorCode::mismatch, "mask has shape ", context.shape(i), ", needed ", needed);
    }
  }
  std::int64_t kernel() const noexcept { return kernel_h * kernel_w; }
  std::int64_t outputs() const noexcept { return out_h * out_w; }
  std::int64_t plane() const noexcept { return height * width; }
};

// The four pixels around a point: weights and their derivatives by row and column.
struct DeformedPixel {
  std::int64_t at;
  double weight, by_row, by_column, by_both;
};

template <class Body>
void for_pixels(const DeformedColumns& c, double row, double column, Body&& body) {
  const bool far = !(row > -1 && column > -1 && row < static_cast<double>(c.height) &&
                     column < static_cast<double>(c.width));
  if (far) return;
  const double top = std::floor(row);
  const double left = std::floor(column);
  const double v = row - top;
  const double h = column - left;
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

// For every window element of every output in offset group g: where it lies, its place among the
// offsets and the mask.
template <class Body>
void for_points(const DeformedColumns& c, const double* offset, std::int64_t n, std::int64_t g,
                Body&& body) {
  for (std::int64_t k = 0; k < c.kernel(); ++k) {
    const std::int64_t element = (n * c.groups + g) * c.kernel() + k;
    for (std::int64_t o = 0; o < c.outputs(); ++o) {
      const std::int64_t by_row = 2 * element * c.outputs() + o;
      const std::int64_t by_column = by_row + c.outputs();
      const std::int64_t i =
          o / c.out_w * c.vertical.stride - c.vertical.begin + k / c.kernel_w * c.vertical.dilation;
      const std::int64_t j = o % c.out_w * c.horizontal.stride - c.horizontal.begin +
                             k % c.kernel_w * c.horizontal.dilation;
      body(static_cast<double>(i) + offset[by_row], static_cast<double>(j) + offset[by_column], k,
           o, by_row, by_column, element * c.outputs() + o);
    }
  }
}

// The two extents of the kernel, input i of a node.
inline std::vector<std::int64_t> kernel_extents(const graph::BindContext& context, std::size_t i) {
  const Tensor* tensor = context.constant(i);
  if (tensor == nullptr || tensor->size() != 2) {
    fail(ErrorCode::unsupported, "kernel extents must be known when the node is bound");
  }
  const auto values = tensor->values<std::int64_t>();
  return {values.begin(), values.end()};
}

}  // namespace ondine::kernels
