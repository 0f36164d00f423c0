// What transforms of Winograd convolution share whatever the type of their results; lanes are
// channels.
#pragma once

#include "kernels/simd/conv/channel_interleave.h"
#include "kernels/simd/conv/conv_parts.h"
#include "kernels/simd/conv/winograd_tile.h"
#include "kernels/simd/vector/strided.h"

namespace ondine::math::ONDINE_ISA {
namespace {

using V = Vec<float>;

constexpr int L = lanes<float>;
constexpr N channels_ahead = 8;  // of weights that are asked for early

// The nine taps of `count` rows `stride` apart as vectors over the rows. Those `next` elements
// behind are wanted later: rows lie too far apart for the processor to foresee it.
ONDINE_INLINE void load_taps(V* taps, const float* w, N stride, N count, N next) {
  float rows[L < 9 ? 12 * L : L * L];  // tap by tap
  if constexpr (L == 16) {
    V r[L];
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) {
      r[l] = l < count ? load_n(w + l * stride, 9) : V{};
      __builtin_prefetch(w + l * stride + next);
    }
    transpose<float>(r);
#pragma GCC unroll 9
    for (int k = 0; k < 9; ++k) taps[k] = r[k];
  } else {
    for (N k = 0; k < 9; ++k) {
      for (N l = 0; l < L; ++l) rows[k * L + l] = l < count ? w[l * stride + k] : 0;
    }
    for (N k = 0; k < 9; ++k) taps[k] = load(rows + k * L);
  }
}

// body(which tile, where its first element lies in a copy of `pitch` positions a row)
template <class Body>
ONDINE_INLINE void for_tiles(const TileRows& r, N pitch, Body&& body) {
  for (N h = 0; h < r.rows; ++h) {
    for (N w = 0; w < r.across; ++w) body(h * r.across + w, (h * pitch + w) * tile * L);
  }
}

template <int Size>
ONDINE_INLINE void load_square(V (&d)[Size * Size], const float* from, N pitch) {
#pragma GCC unroll 6
  for (int i = 0; i < Size; ++i) {
#pragma GCC unroll 6
    for (int j = 0; j < Size; ++j) d[i * Size + j] = load(from + (i * pitch + j) * L);
  }
}

// put(which tile, channel, components) for each tile of each vector of channels.
template <class Put>
ONDINE_INLINE void transform_input(const TileRows& r, N pad_h, N pad_w, const float* x, float* rows,
                                   Put&& put) {
  const N pitch = r.across * tile + 2;
  const N start = r.first * tile - pad_h;
  const N begin = max(0, start);
  const N end = min(r.height, start + r.rows * tile + 2);
  const N plane = r.height * r.width;
  set_zero(rows, (r.rows * tile + 2) * pitch * L);  // the margins of all channels
  for (N c = 0; c < r.channels; c += L) {
    if (begin < end) {
      interleave_channels(rows + ((begin - start) * pitch + pad_w) * L,
                          x + c * plane + begin * r.width, plane, min(L, r.channels - c),
                          (end - begin) * r.width, r.width, pitch);
    }
    for_tiles(r, pitch, [&](N which, N at) {
      V d[components];
      load_square<tile_edge>(d, rows + at, pitch);
      V all[components];
      apply_both<InputMatrix, tile_edge, tile_edge>(all, d);
      put(which, c, all);
    });
  }
}

// The same of the gradient of the result: what the adjoint of the output transform gives.
template <class Put>
ONDINE_INLINE void transform_gradient(const TileRows& r, const float* dy, float* rows, Put&& put) {
  const N pitch = r.across * tile;
  const N count = min(r.rows * tile, r.height - r.first * tile);
  const N plane = r.height * r.width;
  set_zero(rows, r.rows * tile * pitch * L);
  for (N c = 0; c < r.channels; c += L) {
    interleave_channels(rows, dy + c * plane + r.first * tile * r.width, plane,
                        min(L, r.channels - c), count * r.width, r.width, pitch);
    for_tiles(r, pitch, [&](N which, N at) {
      V d[tile * tile];
      load_square<tile>(d, rows + at, pitch);
      V all[components];
      apply_both<Adjoint<OutputMatrix>, tile_edge, tile>(all, d);
      put(which, c, all);
    });
  }
}

}  // namespace
}  // namespace ondine::math::ONDINE_ISA
