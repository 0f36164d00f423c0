// What both depthwise implementations share.
#pragma once

#include "kernels/conv/algorithms/algorithm.h"

namespace ondine::math {

// One channel of x and of y for each group, over planes; a depth that the window does not span is
// more planes.
inline bool is_depthwise(const ConvShape& s) {
  const bool flat = s.kernel[0] == 1 && s.stride[0] == 1 && s.pad[0] == 0 && s.in[0] == s.out[0];
  return flat && s.groups == s.in_channels && s.groups > 1 && s.out_channels == s.groups &&
         !is_empty(s);
}

inline constexpr std::int64_t depthwise_work = std::int64_t{1} << 17;  // multiplications of a task

}  // namespace ondine::math
