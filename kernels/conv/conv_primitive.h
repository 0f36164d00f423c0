// Convolution and its adjoints. x is [batch, in_channels, in...], w is
// [out_channels, in_channels / groups, kernel...], y is [batch, out_channels, out...]; float,
// double. A transposed convolution is conv_input_gradient with the roles of x and y exchanged.
#pragma once

#include <cstdint>

#include "kernels/matmul/gemm_primitive.h"
#include "kernels/simd/conv/spatial_dims.h"

namespace ondine::math {

using Extents = SpatialDims;

// y[o] = sum over k of w[k] x[o stride + k dilation - pad], x being 0 outside of its extents; what
// is padded at the end follows from `out`. `groups` divides both numbers of channels.
struct ConvShape {
  std::int64_t batch = 1;
  std::int64_t in_channels = 1;
  std::int64_t out_channels = 1;
  std::int64_t groups = 1;
  Extents in{1, 1, 1};
  Extents kernel{1, 1, 1};
  Extents out{1, 1, 1};
  Extents stride{1, 1, 1};
  Extents dilation{1, 1, 1};
  Extents pad{0, 0, 0};
};

template <class T>
std::size_t conv_workspace(const ConvShape& shape, int threads,
                           const Kernels& kernels = math::kernels());
// y = activation(x * w + bias); bias may be null.
template <class T>
void conv(ThreadPool& pool, const ConvShape& shape, const T* x, const T* w, const T* bias, T* y,
          Activation activation, Workspace workspace, const Kernels& kernels = math::kernels());

template <class T>
std::size_t conv_input_gradient_workspace(const ConvShape& shape, int threads,
                                          const Kernels& kernels = math::kernels());
// Overwrites dx. `bias` (in_channels values, for transposed convolutions) may be null.
template <class T>
void conv_input_gradient(ThreadPool& pool, const ConvShape& shape, const T* dy, const T* w,
                         const T* bias, T* dx, Workspace workspace,
                         const Kernels& kernels = math::kernels());

template <class T>
std::size_t conv_weight_gradient_workspace(const ConvShape& shape, int threads,
                                           const Kernels& kernels = math::kernels());
// Overwrites dw.
template <class T>
void conv_weight_gradient(ThreadPool& pool, const ConvShape& shape, const T* x, const T* dy, T* dw,
                          Workspace workspace, const Kernels& kernels = math::kernels());

}  // namespace ondine::math
