// Convolutions of stride 1 whose products read planes from the position that a tap sees.
#pragma once

#include <vector>

#include "kernels/conv/algorithms/directed_shape.h"
#include "kernels/simd/conv/shifted_table.h"

namespace ondine::math {

// The windows over padded planes.
struct ShiftedWindows {
  ShiftedWindows(const ConvShape& s, const DirectedShape& d)
      : reach_h((s.kernel[1] - 1) * s.dilation[1]),
        reach_w((s.kernel[2] - 1) * s.dilation[2]),
        planes{.channels = d.inner,
               .height = d.in[1],
               .width = d.in[2],
               .top = d.pad_h,
               .left = d.pad_w,
               .row = 0,
               .pairs = 0,
               .plane = 0} {
    set_row(s, d.out[2] + reach_w);
  }

  void set_row(const ConvShape& s, std::int64_t row) {
    planes.row = row;
    offsets.clear();
    for (std::int64_t i = 0; i < s.kernel[1]; ++i) {
      for (std::int64_t j = 0; j < s.kernel[2]; ++j) {
        offsets.push_back(i * s.dilation[1] * row + j * s.dilation[2]);
      }
    }
  }

  std::int64_t reach_h, reach_w;  // positions that a window has below and beside its first
  PairedPlanes planes;
  std::vector<std::int64_t> offsets;  // of each tap
};

// backward_weights.
MadeConv<float> make_shifted_weights(const ConvDesc& desc, const Kernels& kernels);

}  // namespace ondine::math
