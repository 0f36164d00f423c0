#include "kernels/conv/algorithms/plane_gather.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

// The coordinates of item i of a box.
SpatialDims at(Index i, const SpatialDims& box) {
  return {i / (box[2] * box[1]), i / box[2] % box[1], i % box[2]};
}

// The element of x under a tap at a position; -1 in the padding.
Index source_of(const ConvShape& s, const SpatialDims& tap, const SpatialDims& position) {
  Index source = 0;
  for (std::size_t dim = 0; dim < 3; ++dim) {
    const Index i = position[dim] * s.stride[dim] + tap[dim] * s.dilation[dim] - s.pad[dim];
    if (i < 0 || i >= s.in[dim]) return -1;
    source = source * s.in[dim] + i;
  }
  return source;
}

}  // namespace

PlaneGather::PlaneGather(const ConvShape& s, Index lanes)
    : taps_(volume(s.kernel)), vectors_(divide_up(volume(s.out), lanes)) {
  for (Index tap = 0; tap < taps_; ++tap) {
    for (Index v = 0; v < vectors_; ++v) {
      const std::size_t before = windows_.size();
      const Index last = std::min(volume(s.out), (v + 1) * lanes);
      for (Index p = v * lanes; p < last; ++p) {
        const Index source = source_of(s, at(tap, s.kernel), at(p, s.out));
        if (source < 0) continue;
        if (windows_.size() == before || source >= windows_.back().start + 2 * lanes) {
          windows_.push_back({static_cast<std::int32_t>(source), 0, {}});
        }
        GatherWindow& window = windows_.back();
        const auto lane = static_cast<std::size_t>(p - v * lanes);
        window.lanes = static_cast<std::uint16_t>(window.lanes | 1U << lane);
        window.from[lane] = static_cast<std::uint8_t>(source - window.start);
      }
      counts_.push_back(static_cast<std::uint8_t>(windows_.size() - before));
    }
  }
}

}  // namespace ondine::math
