// Pooling over windows of 1 to 3 spatial dimensions. x is [planes, in...], y is [planes, out...];
// planes = batch x channels. float and double: the primitive of MaxPool, AveragePool, SumPool and
// their gradients.
//
// Implementations, the first that fits:
//   squares  max: 2 x 2 windows of stride 2 without padding, in two dimensions
//   global   average: one window that is the whole plane
//   rows     any window: the taps of a row of outputs, joined over lines
#pragma once

#include <string_view>

#include "core/parallel.h"
#include "kernels/simd/conv/spatial_dims.h"
#include "kernels/simd/isa.h"

namespace ondine::math {

// Window o covers o stride + k dilation - pad for k < kernel; elements outside of x take no part.
// Every window must have an element inside of x for max.
struct PoolShape {
  std::int64_t planes = 1;
  SpatialDims in{1, 1, 1};
  SpatialDims kernel{1, 1, 1};
  SpatialDims out{1, 1, 1};
  SpatialDims stride{1, 1, 1};
  SpatialDims dilation{1, 1, 1};
  SpatialDims pad{0, 0, 0};
  SpatialDims pad_end{0, 0, 0};    // only for count_include_pad
  bool count_include_pad = false;  // average: padding (not what lies beyond it) counts as zeros
};

// Of the implementation that is chosen.
std::string_view max_pool_name(const PoolShape& shape);
std::string_view average_pool_name(const PoolShape& shape);

// index, where not null, gets the position of the maximum within its plane, as row-major offset
// into `in`, plus plane_step for each plane before; the first of equals. NaN is the maximum.
template <class T>
void max_pool(ThreadPool& pool, const PoolShape& shape, const T* x, T* y, std::int64_t* index,
              std::int64_t plane_step, const Kernels& kernels = math::kernels());
template <class T>
void max_pool(ThreadPool& pool, const PoolShape& shape, const T* x, T* y, std::int64_t* index,
              const Kernels& kernels = math::kernels()) {
  max_pool(pool, shape, x, y, index, 0, kernels);
}
// dx = 0, then dx[index] += dy. Positions outside of the plane are skipped.
template <class T>
void max_pool_gradient(ThreadPool& pool, const PoolShape& shape, const T* dy,
                       const std::int64_t* index, T* dx);
// The same, finding the maxima again.
template <class T>
void max_pool_gradient(ThreadPool& pool, const PoolShape& shape, const T* dy, const T* x, T* dx,
                       const Kernels& kernels = math::kernels());

template <class T>
void average_pool(ThreadPool& pool, const PoolShape& shape, const T* x, T* y,
                  const Kernels& kernels = math::kernels());
template <class T>
void average_pool_gradient(ThreadPool& pool, const PoolShape& shape, const T* dy, T* dx,
                           const Kernels& kernels = math::kernels());

}  // namespace ondine::math
