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
ONDINE_INLINE void load_taps(V* taps, const float* w, N stride, N count, N next, bool flip) {
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
    for (int k = 0; k < 9; ++k) taps[k] = flip ? r[8 - k] : r[k];
  } else {
    for (N k = 0; k < 9; ++k) {
      for (N l = 0; l < L; ++l) rows[k * L + l] = l < count ? w[l * stride + k] : 0;
    }
    for (N k = 0; k < 9; ++k) taps[k] = load(rows + (flip ? 8 - k : k) * L);
  }
}

// body(tile, where its first element lies in a copy of `pitch` positions a row)
template <int M, class Body>
ONDINE_INLINE void for_tiles(const TileRows& r, N pitch, Body&& body) {
  for (N h = 0; h < r.rows; ++h) {
    for (N w = 0; w < r.across; ++w) body(h * r.across + w, (h * pitch + w) * M * L);
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

// put(tile, channel, components) for each tile of each vector of channels.
template <int M, class Put>
ONDINE_INLINE void transform_input(const TileRows& r, N pad_h, N pad_w, const float* x, float* rows,
                                   Put&& put) {
  constexpr int size = M + 2;
  const N pitch = r.across * M + 2;
  const N start = r.first * M - pad_h;
  const N begin = max(0, start);
  const N end = min(r.height, start + r.rows * M + 2);
  const N plane = r.height * r.width;
  for (N c = 0; c < r.channels; c += L) {
    set_zero(rows, (r.rows * M + 2) * pitch * L);
    if (begin < end) {
      interleave_channels(rows + ((begin - start) * pitch + pad_w) * L,
                          x + c * plane + begin * r.width, plane, min(L, r.channels - c),
                          (end - begin) * r.width, r.width, pitch);
    }
    for_tiles<M>(r, pitch, [&](N tile, N at) {
      V d[size * size];
      load_square<size>(d, rows + at, pitch);
      V all[size * size];
      apply_both<InputMatrix<M>, size, size>(all, d);
      put(tile, c, all);
    });
  }
}

// The same of the gradient of the result: what the adjoint of the output transform gives.
template <int M, class Put>
ONDINE_INLINE void transform_gradient(const TileRows& r, const float* dy, float* rows, Put&& put) {
  constexpr int size = M + 2;
  const N pitch = r.across * M;
  const N count = min(r.rows * M, r.height - r.first * M);
  const N plane = r.height * r.width;
  for (N c = 0; c < r.channels; c += L) {
    set_zero(rows, r.rows * M * pitch * L);
    interleave_channels(rows, dy + c * plane + r.first * M * r.width, plane, min(L, r.channels - c),
                        count * r.width, r.width, pitch);
    for_tiles<M>(r, pitch, [&](N tile, N at) {
      V d[M * M];
      load_square<M>(d, rows + at, pitch);
      V all[size * size];
      apply_both<Adjoint<OutputMatrix<M>>, size, M>(all, d);
      put(tile, c, all);
    });
  }
}

}  // namespace
}  // namespace ondine::math::ONDINE_ISA
