// Weights of 3 x 3 windows as vectors over the outer channels, and their transform to the
// components of Winograd convolutions.
#pragma once

#include "kernels/simd/conv/winograd_parts.h"

namespace ondine::math::ONDINE_ISA {
namespace {

constexpr int window = 9;  // taps

constexpr int weight_edge = 4;
constexpr int weight_components = weight_edge * weight_edge;

// Of stride 1. expand: to[i to_step] = row i of G times from[j from_step]; reduce: of G^T.
// mirrored: where the components of the taps in reverse order are among those of the taps as they
// are.
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

// Of stride 2.
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

#if defined(__AVX512F__)
constexpr IVec<float> each_lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

ONDINE_INLINE V permute_lanes(const V& x, const IVec<float>& from) {
  return reinterpret_cast<V>(_mm512_maskz_permutexvar_ps(0xffff, reinterpret_cast<__m512i>(from),
                                                         reinterpret_cast<__m512>(x)));
}

// Moves position p of nine vectors on by p Places vectors, in a circle. b is scratch memory.
template <int Places>
ONDINE_INLINE void turn_positions(V* a, V* b) {
  const auto turn =
      [](V * to, const V* from, int times, unsigned mask) __attribute__((always_inline)) {
#pragma GCC unroll 9
    for (int m = 0; m < window; ++m) {
      const V& other = from[(m + times * Places) % window];
      to[m] = reinterpret_cast<V>(_mm512_mask_blend_ps(static_cast<__mmask16>(mask),
                                                       reinterpret_cast<__m512>(from[m]),
                                                       reinterpret_cast<__m512>(other)));
    }
  };
  // Bit p of a mask: whether p % 9 has the bit of that value.
  turn(b, a, 1, 0b0101010010101010);
  turn(a, b, 2, 0b1001100011001100);
  turn(b, a, 4, 0b1110000011110000);
  turn(a, b, 8, 0b0000000100000000);
}

// Lane l of taps[k] is w[9 l + k]. Position p of vector v of w is of tap 7 v + p modulo 9: with the
// vectors in the order of their first taps and position p of each moved on by p vectors, a vector
// holds one tap, lane l of tap k at position 9 l + k modulo 16.
ONDINE_INLINE void split_taps(V* taps, const float* w) {
  static_assert(L == 16);
  V a[window];
  V b[window];
#pragma GCC unroll 9
  for (int m = 0; m < window; ++m) a[m] = load(w + 4 * m % window * L);
  turn_positions<window - 1>(a, b);
#pragma GCC unroll 9
  for (int k = 0; k < window; ++k)
    taps[k] = permute_lanes(a[k], (each_lane * window + k) & (L - 1));
}

// The reverse: taps of at most `count` channels.
ONDINE_INLINE void join_taps(float* w, const V* taps, N count) {
  V a[window];
  V b[window];
#pragma GCC unroll 9
  for (int k = 0; k < window; ++k) {
    a[k] = permute_lanes(taps[k], (each_lane - k) * window & (L - 1));
  }
  turn_positions<1>(a, b);
#pragma GCC unroll 9
  for (int m = 0; m < window; ++m) {
    const N from = 4 * m % window * L;
    if (count == L) {
      store(w + from, a[m]);
    } else {
      store_n(w + from, a[m], max(0, min(L, count * window - from)));
    }
  }
}
#endif

// The taps of a vector of outer channels, for inner channels in turn. Forward, the inner channels
// lie beside each other in memory, backward the outer ones.
class WeightTaps {
 public:
  // From the outer channel `outer` on; zeros beyond the last channels.
  ONDINE_MEMBER WeightTaps(const TileWeights& s, N outer, const float* w)
      : s_(s), w_(w + outer * s.outer_stride), count_(min(L, s.outer - outer)) {
    if (count_ < L || L != 16) return;
    beside_ = s.outer_stride == window;
    along_ = s.inner_stride == window;
  }

  ONDINE_MEMBER void get(V* taps, N inner) {
    const float* const from = w_ + inner * s_.inner_stride;
#if defined(__AVX512F__)
    if (beside_ && inner < s_.inner) {
#pragma GCC unroll 9
      for (int i = 0; i < window; ++i)
        __builtin_prefetch(from + rows_ahead * s_.inner_stride + i * L, 0, 2);
      return split_taps(taps, from);
    }
    if (along_ && inner < s_.inner / L * L) {
      if (inner % L == 0) gather(from);
#pragma GCC unroll 9
      for (int k = 0; k < window; ++k) taps[k] = gathered_[inner % L * window + k];
      return;
    }
#endif
    if (count_ > 0 && inner < s_.inner) {
      load_taps(taps, from, s_.outer_stride, count_, channels_ahead * s_.inner_stride);
      return;
    }
#pragma GCC unroll 9
    for (int k = 0; k < window; ++k) taps[k] = V{};
  }

 private:
#if defined(__AVX512F__)
  static constexpr N rows_ahead = 32;  // of weights that come from memory

  // Of as many inner channels as a vector has lanes, which lie beside each other.
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
#endif

  const TileWeights& s_;
  const float* w_;
  N count_;
  bool beside_ = false, along_ = false;
};

}  // namespace
}  // namespace ondine::math::ONDINE_ISA
