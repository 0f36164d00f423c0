// A convolution seen from its result: forward or, from y to x with mirrored weights, backward_data.
#pragma once

#include "kernels/conv/algorithms/algorithm.h"

namespace ondine::math {

struct DirectedShape {
  DirectedShape(const ConvShape& s, ConvDirection direction)
      : backward(direction == ConvDirection::backward_data),
        inner(backward ? s.out_channels : s.in_channels),
        outer(backward ? s.in_channels : s.out_channels),
        in(backward ? s.out : s.in),
        out(backward ? s.in : s.out),
        pad_h(backward ? s.reach(1) - s.pad[1] : s.pad[1]),
        pad_w(backward ? s.reach(2) - s.pad[2] : s.pad[2]) {}
  explicit DirectedShape(const ConvDesc& desc) : DirectedShape(desc.shape, desc.direction) {}

  template <class T>
  Elements<const T> source(const ConvArgs<T>& args) const {
    return backward ? args.dy : args.x;
  }
  std::int64_t source_image() const { return inner * volume(in); }  // elements
  std::int64_t result_image() const { return outer * volume(out); }

  bool backward;
  std::int64_t inner, outer;  // channels summed over, and of the result
  SpatialDims in, out;
  std::int64_t pad_h, pad_w;  // of stride 1
};

// How the weights are read in that direction.
inline TileWeights weights_of(const ConvShape& s, const DirectedShape& d) {
  TileWeights weights{};
  const std::int64_t taps = volume(s.kernel);
  weights.inner = d.inner;
  weights.outer = d.outer;
  weights.inner_stride = d.backward ? s.in_channels * taps : taps;
  weights.outer_stride = d.backward ? taps : s.in_channels * taps;
  return weights;
}

// One group of a convolution.
inline ConvShape group_of(ConvShape s) {
  s.in_channels /= s.groups;
  s.out_channels /= s.groups;
  s.groups = 1;
  return s;
}

// Whether backward_data of a convolution over planes is a convolution too: stride 1, one group, and
// from 0 to (kernel - 1) dilation of padding at either end.
inline bool is_mirrorable(const ConvShape& s) {
  if (s.groups != 1 || s.stride != SpatialDims{1, 1, 1} || !is_planar(s) || is_empty(s)) {
    return false;
  }
  for (std::size_t i = 1; i < 3; ++i) {
    const std::int64_t end = s.out[i] + s.reach(i) - s.in[i] - s.pad[i];
    if (s.pad[i] > s.reach(i) || end < 0 || end > s.reach(i)) return false;
  }
  return true;
}

}  // namespace ondine::math
