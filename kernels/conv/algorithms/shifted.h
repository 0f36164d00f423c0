// Convolutions of stride 1 whose products read planes from the position that a tap sees.
#pragma once

#include <vector>

#include "kernels/conv/algorithms/directed_shape.h"
#include "kernels/simd/conv/shifted_table.h"

namespace ondine::math {

// The windows over padded planes, of which `pairs` and `plane` are left to set.
struct ShiftedWindows {
  // Padded rows have a multiple of `unit` positions.
  ShiftedWindows(const ConvShape& s, const DirectedShape& d, std::int64_t unit = 1)
      : reach_h(s.reach(1)),
        reach_w(s.reach(2)),
        planes{.channels = d.inner,
               .height = d.in[1],
               .width = d.in[2],
               .top = d.pad_h,
               .left = d.pad_w,
               .row = round_up(d.out[2] + reach_w, unit),
               .pairs = 0,
               .plane = 0} {
    for (std::int64_t i = 0; i < s.kernel[1]; ++i) {
      for (std::int64_t j = 0; j < s.kernel[2]; ++j) {
        offsets.push_back(i * s.dilation[1] * planes.row + j * s.dilation[2]);
      }
    }
  }

  std::int64_t reach_h, reach_w;  // positions that a window has below and beside its first
  PairedPlanes planes;
  std::vector<std::int64_t> offsets;  // of each tap
};

// backward_weights.
MadeConv<float> make_shifted_weights(const ConvDesc& desc, const SimdTables& kernels);

}  // namespace ondine::math
