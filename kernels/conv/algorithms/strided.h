// Strided convolution over planes, computed from padded copies of the planes.
#pragma once

#include "kernels/conv/algorithms/directed_shape.h"

namespace ondine::math {

// How the positions of one dim of the result read the copy. backward_data is one convolution of
// stride 1 for each phase (element modulo stride) with the taps that meet it.
struct StridedAxis {
  StridedAxis(const ConvShape& s, std::size_t dim, bool backward);

  // Offset of tap k in the copy from a position of the phase on; -1 if the tap never meets the
  // phase.
  std::int64_t offset(std::int64_t phase, std::int64_t k) const;
  std::int64_t taps_of(std::int64_t phase) const;  // how many meet it
  // Positions of a phase; the first one has the most.
  std::int64_t positions(std::int64_t phase) const { return (dim - phase + phases - 1) / phases; }
  // Elements of the copy for n positions.
  std::int64_t span(std::int64_t n) const { return (n - 1) * step + reach + 1; }

  bool backward;
  std::int64_t stride, dilation, pad, kernel;
  std::int64_t dim;  // of the result
  std::int64_t phases;
  std::int64_t step;   // in the copy from a position to the next
  std::int64_t low;    // what the first element of the copy for position 0 is in the source
  std::int64_t reach;  // the largest offset
};

inline constexpr std::int64_t max_strided_taps = 64;   // of a window
inline constexpr std::int64_t max_strided_panel = 32;  // outer channels

// backward_weights.
template <class T>
MadeConv<T> make_strided_weights(const ConvDesc& desc, const SimdTables& kernels);

}  // namespace ondine::math
