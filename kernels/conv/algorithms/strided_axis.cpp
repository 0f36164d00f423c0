#include <limits>

#include "kernels/conv/algorithms/strided.h"

namespace ondine::math {

using Index = std::int64_t;

StridedAxis::StridedAxis(const ConvShape& s, std::size_t axis, bool is_backward)
    : backward(is_backward),
      stride(s.stride[axis]),
      dilation(s.dilation[axis]),
      pad(s.pad[axis]),
      kernel(s.kernel[axis]),
      dim(is_backward ? s.in[axis] : s.out[axis]),
      phases(is_backward ? stride : 1),
      step(is_backward ? 1 : stride),
      low(-pad),
      reach((kernel - 1) * dilation) {
  if (!backward) return;
  Index min = std::numeric_limits<Index>::max();
  Index max = std::numeric_limits<Index>::min();
  for (Index phase = 0; phase < phases; ++phase) {
    for (Index k = 0; k < kernel; ++k) {
      const Index at = phase + pad - k * dilation;
      if (at % stride != 0) continue;
      min = std::min(min, at / stride);
      max = std::max(max, at / stride);
    }
  }
  low = min;
  reach = max - min;
}

Index StridedAxis::offset(Index phase, Index k) const {
  if (!backward) return k * dilation;
  const Index at = phase + pad - k * dilation;
  return at % stride == 0 ? at / stride - low : -1;
}

Index StridedAxis::taps_of(Index phase) const {
  Index count = 0;
  for (Index k = 0; k < kernel; ++k) count += offset(phase, k) >= 0;
  return count;
}

}  // namespace ondine::math
