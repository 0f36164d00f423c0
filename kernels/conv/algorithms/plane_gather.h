// Tables for Im2colKernels::gather_planes: where the columns of a plane come from.
#pragma once

#include <vector>

#include "kernels/conv/algorithms/algorithm.h"

namespace ondine::math {

// The elements of a plane under each tap of the window, position by position, as windows of two
// vectors that lanes pick from.
class PlaneGather {
 public:
  PlaneGather(const ConvShape& s, std::int64_t lanes);
  GatherTable table() const { return {taps_, vectors_, counts_.data(), windows_.data()}; }

 private:
  std::int64_t taps_, vectors_;
  std::vector<std::uint8_t> counts_;
  std::vector<GatherWindow> windows_;
};

}  // namespace ondine::math
