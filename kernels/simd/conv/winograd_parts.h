// Transforms of Winograd convolution, shared for all types of results; lanes are channels.
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
// further on are wanted later: rows lie too far apart for the processor to foresee it.
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

// body(which tile, where its first element lies in a copy of `pitch` positions a row), tiles being
// `step` positions apart.
template <class Body>
ONDINE_INLINE void for_tiles(const TileRows& r, N pitch, N step, Body&& body) {
  for (N h = 0; h < r.rows; ++h) {
    const auto& start = r.start[h >= r.whole_rows];
    const N row = h < r.whole_rows ? h : 0;
    N at = h * pitch * step * L;
    for (N w = 0; w < r.whole_columns; ++w, at += step * L) {
      body(start[0] + row * r.whole_columns + w, at);
    }
    if (r.whole_columns < r.across) body(start[1] + row, at);
  }
}

// Positions of a row of the copy of a source that is padded by `pad` zeros, some maybe not read.
template <class Form>
ONDINE_INLINE N source_pitch(const TileRows& r, N pad) {
  return max(r.across * Form::step + Form::span - Form::step, pad + r.width);
}
template <class Form>
ONDINE_INLINE N source_rows(const TileRows& r) {
  return r.rows * Form::step + Form::span - Form::step;
}

// put(which tile, channel, components) for each tile of each vector of channels.
template <class Form, class Put>
ONDINE_INLINE void transform_input(const TileRows& r, N pad_h, N pad_w, const float* x, float* rows,
                                   Put&& put) {
  constexpr int edge = Form::edge, sources = Form::sources;
  const N pitch = source_pitch<Form>(r, pad_w);
  const N start = r.first * Form::step - pad_h;
  const N begin = max(0, start);
  const N end = min(r.height, start + source_rows<Form>(r));
  const N plane = r.height * r.width;
  set_zero(rows, source_rows<Form>(r) * pitch * L);  // the margins of all channels
  for (N c = 0; c < r.channels; c += L) {
    if (begin < end) {
      interleave_channels(rows + ((begin - start) * pitch + pad_w) * L,
                          x + c * plane + begin * r.width, plane, min(L, r.channels - c),
                          (end - begin) * r.width, r.width, pitch);
    }
    for_tiles(r, pitch, Form::step, [&](N which, N at) {
      V d[edge * edge];
#pragma GCC unroll 5
      for (int i = 0; i < edge; ++i) {
#pragma GCC unroll 5
        for (int j = 0; j < edge; ++j) {
          const N from = Form::row(i, r.odd_h) * pitch + Form::row(j, r.odd_w);
          d[i * edge + j] = load(rows + at + from * L);
        }
      }
      V all[sources * sources];
      apply_both<typename Form::Input, sources, edge>(all, d);
      put(which, c, all);
    });
  }
}

// transform_input for the gradient of the result: applies the adjoint of the output transform.
template <class Form, class Put>
ONDINE_INLINE void transform_gradient(const TileRows& r, const float* dy, float* rows, Put&& put) {
  constexpr int tile = Form::tile, results = Form::results;
  const N pitch = r.across * tile;
  const N count = min(r.rows * tile, r.height - r.first * tile);
  const N plane = r.height * r.width;
  set_zero(rows, r.rows * tile * pitch * L);
  for (N c = 0; c < r.channels; c += L) {
    interleave_channels(rows, dy + c * plane + r.first * tile * r.width, plane,
                        min(L, r.channels - c), count * r.width, r.width, pitch);
    for_tiles(r, pitch, tile, [&](N which, N at) {
      V d[tile * tile];
#pragma GCC unroll 4
      for (int i = 0; i < tile; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < tile; ++j) d[i * tile + j] = load(rows + at + (i * pitch + j) * L);
      }
      V all[results * results];
      apply_both<Adjoint<typename Form::Output>, results, tile>(all, d);
      put(which, c, all);
    });
  }
}

}  // namespace
}  // namespace ondine::math::ONDINE_ISA
