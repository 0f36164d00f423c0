// The descriptor of a convolution or of one of its gradients.
#pragma once

#include <cstdint>

#include "kernels/matmul/gemm_primitive.h"
#include "kernels/simd/conv/spatial_dims.h"

namespace ondine::math {

// y[o] = sum over k of w[k] x[o stride + k dilation - pad], x being 0 outside of its dims. x is
// [batch, in_channels, in...], w [out_channels, in_channels / groups, kernel...] and y [batch,
// out_channels, out...]; the padding at the end follows from `out`. `groups` divides both numbers
// of channels.
struct ConvShape {
  std::int64_t batch = 1;
  std::int64_t in_channels = 1;
  std::int64_t out_channels = 1;
  std::int64_t groups = 1;
  SpatialDims in{1, 1, 1};
  SpatialDims kernel{1, 1, 1};
  SpatialDims out{1, 1, 1};
  SpatialDims stride{1, 1, 1};
  SpatialDims dilation{1, 1, 1};
  SpatialDims pad{0, 0, 0};

  // Elements from the first that a window sees along a dim to the last.
  std::int64_t reach(std::size_t dim) const { return (kernel[dim] - 1) * dilation[dim]; }
};

enum class ConvDirection : std::uint8_t { forward, backward_data, backward_weights };

struct ConvDesc {
  ConvShape shape;
  ConvDirection direction = ConvDirection::forward;
  Activation activation = Activation::none;  // of the epilogue; only forward has one
  // How x, w and y of a forward convolution are stored: bfloat16 where the implementation takes
  // that (ConvRounding).
  Storage x_stored = Storage::plain;
  Storage w_stored = Storage::plain;
  Storage y_stored = Storage::plain;
  // Rows of x have their even columns first, then the odd ones: only for
  // DepthwiseStripKernels::forward_split.
  bool x_split = false;
};

}  // namespace ondine::math
