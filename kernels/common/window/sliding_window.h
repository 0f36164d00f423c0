// The sliding window of convolutions and pools: attributes, padding and output dims.
#pragma once

#include "graph/contract/infer.h"
#include "kernels/simd/conv/spatial_dims.h"

namespace ondine::kernels {

enum class AutoPad : std::uint8_t { notset, same_upper, same_lower, valid };

struct WindowAxis {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t begin = 0;  // padding; as given until an input dim resolves AutoPad
  std::int64_t end = 0;
  // From the first to the last element that the window covers.
  std::int64_t span() const;
};

struct Window {
  AutoPad auto_pad = AutoPad::notset;
  bool ceil = false;
  std::vector<WindowAxis> axes;
};

// The attributes auto_pad, ceil_mode, dilations, pads and strides of a node with `kernel.size()`
// spatial axes. Error(mismatch) for lists of another length, kernel dims, strides or dilations
// below 1 and negative pads.
Window read_window(const graph::NodeView& node, std::span<const std::int64_t> kernel);

// Error(limit) for a span, stride or pad with which sums may overflow.
void check_length(std::int64_t length);

// The required attribute kernel_shape.
std::vector<std::int64_t> kernel_shape(const graph::NodeView& node);

// Output dim of an axis; writes begin and end where AutoPad fixes them. Error(mismatch) when the
// window does not fit.
std::int64_t resolve(WindowAxis& axis, std::int64_t in, AutoPad auto_pad, bool ceil);
// resolve() for a dim that may be dynamic.
graph::Dim output_dim(WindowAxis axis, graph::Dim in, AutoPad auto_pad, bool ceil);

// Up to three spatial dims as exactly three, with leading ones.
math::SpatialDims spatial_dims(std::span<const std::int64_t> spatial);
// Error(unsupported) above three spatial axes.
void require_spatial(std::size_t axes);

}  // namespace ondine::kernels
