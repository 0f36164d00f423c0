// Weights of 3 x 3 windows as vectors over the outer channels, and their transform to the
// components of Winograd convolutions.
#pragma once

#include "kernels/simd/conv/window_taps.h"
#include "kernels/simd/conv/winograd_parts.h"

namespace ondine::math::ONDINE_ISA {
namespace {

constexpr int weight_edge = 4;
constexpr int weight_components = weight_edge * weight_edge;

// Taps of stride 1. expand: to[i to_step] = row i of G times from[j from_step]; reduce uses G^T.
// mirrored: places that the components of the reversed taps have among the components of the taps.
struct UnitTaps {
  static constexpr int mirrored[weight_edge] = {3, 1, 2, 0};
  ONDINE_MEMBER static void expand(V* to, int to_step, const V* from, int from_step) {
    const V ends = (from[0] + from[2 * from_step]) * 0.5F;
    to[0] = from[0];
    to[to_step] = ends + from[from_step] * 0.5F;
    to[2 * to_step] = ends - from[from_step] * 0.5F;
    to[3 * to_step] = from[2 * from_step];
  }
  ONDINE_MEMBER static void reduce(V* to, int to_step, const V* from, int from_step) {
    const V middle = (from[from_step] + from[2 * from_step]) * 0.5F;
    to[0] = from[0] + middle;
    to[to_step] = (from[from_step] - from[2 * from_step]) * 0.5F;
    to[2 * to_step] = middle + from[3 * from_step];
  }
};

// Taps of stride 2.
struct StridedTaps {
  static constexpr int mirrored[weight_edge] = {2, 1, 0, 3};
  ONDINE_MEMBER static void expand(V* to, int to_step, const V* from, int from_step) {
#pragma GCC unroll 3
    for (int i = 0; i < 3; ++i) to[i * to_step] = from[i * from_step];
    to[3 * to_step] = from[0] + from[2 * from_step];
  }
  ONDINE_MEMBER static void reduce(V* to, int to_step, const V* from, int from_step) {
    to[0] = from[0] + from[3 * from_step];
    to[to_step] = from[from_step];
    to[2 * to_step] = from[2 * from_step] + from[3 * from_step];
  }
};

template <class Taps>
constexpr int mirrored_component(int i) {
  return Taps::mirrored[i / weight_edge] * weight_edge + Taps::mirrored[i % weight_edge];
}

// G g G^T of the taps g.
template <class Taps>
ONDINE_INLINE void transform_taps(V* all, const V* taps) {
  V half[12];
#pragma GCC unroll 3
  for (int j = 0; j < 3; ++j) Taps::expand(half + j, 3, taps + j, 3);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) Taps::expand(all + 4 * i, 1, half + 3 * i, 1);
}

// G^T u G of the components u: the gradient of the taps.
template <class Taps>
ONDINE_INLINE void transform_back(V* taps, const V* all) {
  V half[12];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) Taps::reduce(half + j, 4, all + j, 4);
#pragma GCC unroll 3
  for (int i = 0; i < 3; ++i) Taps::reduce(taps + 3 * i, 1, half + 4 * i, 1);
}

// The taps of a vector of outer channels, for inner channels in turn. Forward, the inner channels
// lie beside each other in memory, backward the outer ones.
class WeightTaps {
 public:
  // From the outer channel `outer` on; zeros beyond the last channels.
  ONDINE_MEMBER WeightTaps(const TileWeights& s, N outer, const float* w)
      : s_(s), w_(w + outer * s.outer_stride), count_(min(L, s.outer - outer)) {
    if (count_ < L) return;
    beside_ = s.outer_stride == window;
    along_ = s.inner_stride == window;
  }

  ONDINE_MEMBER void get(V* taps, N inner) {
    const float* const from = w_ + inner * s_.inner_stride;
    if (beside_ && inner < s_.inner) {
#pragma GCC unroll 9
      for (int i = 0; i < window * L; i += line) {
        __builtin_prefetch(from + rows_ahead * s_.inner_stride + i, 0, 2);
      }
      return split_taps(taps, from);
    }
    if (along_ && inner < s_.inner / L * L) {
      if (inner % L == 0) gather(from);
#pragma GCC unroll 9
      for (int k = 0; k < window; ++k) taps[k] = gathered_[inner % L * window + k];
      return;
    }
    if (count_ > 0 && inner < s_.inner) {
      load_taps(taps, from, s_.outer_stride, count_, channels_ahead * s_.inner_stride);
      return;
    }
#pragma GCC unroll 9
    for (int k = 0; k < window; ++k) taps[k] = V{};
  }

 private:
  static constexpr N rows_ahead = 32;  // of weights that come from memory
  static constexpr int line = 16;      // elements of one of a cache

  // Gathers the taps of as many inner channels as a vector has lanes; they lie beside each other.
  void gather(const float* from) {
#pragma GCC unroll 1
    for (N i = 0; i < window; ++i) {
      V r[L];
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) {
        const float* const row = from + l * s_.outer_stride + i * L;
        r[l] = load(row);
        __builtin_prefetch(row + L * window, 0, 2);
      }
      transpose<float>(r);
#pragma GCC unroll 16
      for (int j = 0; j < L; ++j) gathered_[i * L + j] = r[j];
    }
  }
  V gathered_[L * window];

  const TileWeights& s_;
  const float* w_;
  N count_;
  bool beside_ = false, along_ = false;
};

}  // namespace
}  // namespace ondine::math::ONDINE_ISA
