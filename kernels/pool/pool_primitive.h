// Pooling over windows of 1 to 3 spatial dims in float and double: the primitive of MaxPool,
// AveragePool, SumPool and their derivatives, and with them of LpPool and LRN, which expand into
// SumPool. (GlobalAveragePool, GlobalMaxPool and GlobalLpPool are reductions; MaxUnpool and
// MaxPoolGather move elements by index.)
//
// Implementations, in the order in which they are tried:
//   max_scatter   backward max: dx[index] += dy
//   max_squares   max of 2 x 2 windows side by side
//   max_lines     max without indices: the lines of windows of stride 1 or 2 joined at once
//   max_windows   max with few outputs in a row, windows inside of small planes
//   max_rows      any other max: the taps of a row of outputs, joined line by line
//   mean_global   average or sum, one window that is the whole plane
//   sum_lines     average or sum forward: lines joined as in max_lines
//   sum_rows      any other average or sum, both directions
#pragma once

#include <cstdint>

#include "kernels/common/primitive.h"
#include "kernels/simd/conv/spatial_dims.h"

namespace ondine::math {

// x is [planes, in...], y is [planes, out...]; planes = batch x channels. Window o covers
// o stride + k dilation - pad for k < kernel; elements outside of x take no part.
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

enum class PoolKind : std::uint8_t { max, average, sum };

// max: NaN is the maximum, every window must have an element inside of x. An index is the position
// of the first maximum among all elements of x. Backward reads planes, in and the volume of out.
// average: of a window without elements that count NaN, as any mean.
struct PoolDesc {
  PoolShape shape;
  PoolKind kind = PoolKind::max;
  bool backward = false;
  bool indices = false;       // max, forward: they are wanted
  bool column_major = false;  // max: indices count with the first spatial dim running fastest
};

template <class T>
struct PoolArgs {
  const T* x = nullptr;                   // forward
  const T* dy = nullptr;                  // backward
  const std::int64_t* indices = nullptr;  // max, backward; those outside of their plane are skipped
  T* result = nullptr;                    // y or dx
  std::int64_t* new_indices = nullptr;    // max, forward, where they are wanted
};

template <class T>
class PoolPrimitive : public Primitive<PoolDesc, PoolArgs<T>> {
 public:
  // Error(limit) for a max over planes of more elements than a kernel counts.
  explicit PoolPrimitive(const PoolDesc& desc, const SimdTables& kernels = math::simd_tables());
  PoolPrimitive(const PoolDesc& desc, std::string_view name, const SimdTables& kernels);
};

}  // namespace ondine::math
