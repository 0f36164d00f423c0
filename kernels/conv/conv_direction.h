// A convolution of stride 1 in the direction in which it runs.
#pragma once

#include "kernels/conv/conv_plan.h"

namespace ondine::math {

enum class Pass : std::uint8_t { forward, input_gradient, weight_gradient };

// By the input it goes from y to x, with mirrored weights.
struct Direction {
  Direction(const ConvShape& s, Pass pass)
      : backward(pass == Pass::input_gradient),
        inner(backward ? s.out_channels : s.in_channels),
        outer(backward ? s.in_channels : s.out_channels),
        in(backward ? s.out : s.in),
        out(backward ? s.in : s.out),
        pad_h(backward ? (s.kernel[1] - 1) * s.dilation[1] - s.pad[1] : s.pad[1]),
        pad_w(backward ? (s.kernel[2] - 1) * s.dilation[2] - s.pad[2] : s.pad[2]) {}
  bool backward;
  std::int64_t inner, outer;  // channels summed over, and of the result
  Extents in, out;
  std::int64_t pad_h, pad_w;
};

// How the weights are read in that direction.
inline TileWeights weights_of(const ConvShape& s, const Direction& d) {
  TileWeights weights{};
  const std::int64_t taps = volume(s.kernel);
  weights.inner = d.inner;
  weights.outer = d.outer;
  weights.inner_stride = d.backward ? s.in_channels * taps : taps;
  weights.outer_stride = d.backward ? taps : s.in_channels * taps;
  return weights;
}

// Whether a convolution of one group and planes has stride 1 and padding that the mirrored one has
// too: from 0 to the reach of the window, at either end.
inline bool is_simple(const ConvShape& s) {
  const Extents ones{1, 1, 1};
  if (s.groups != 1 || s.stride != ones || s.in[0] != 1 || s.out[0] != 1 || s.pad[0] != 0 ||
      s.kernel[0] != 1) {
    return false;
  }
  for (std::size_t i = 1; i < 3; ++i) {
    const std::int64_t reach = (s.kernel[i] - 1) * s.dilation[i];
    const std::int64_t end = s.out[i] + reach - s.in[i] - s.pad[i];
    if (s.pad[i] > reach || end < 0 || end > reach || s.in[i] < 1) return false;
  }
  return !is_empty(s) && s.in_channels > 0;
}

}  // namespace ondine::math
