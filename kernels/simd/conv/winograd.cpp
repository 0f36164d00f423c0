// 3 x 3 windows in Winograd's transformed space; lanes are channels.
#include "kernels/simd/conv/winograd_parts.h"
#include "kernels/simd/matmul/activation.h"
#include "kernels/simd/vector/strided.h"

namespace ondine::math::ONDINE_ISA {
namespace {

N scratch_bytes(const TileRows& r) {
  return (r.rows * r.tile + 2) * (r.across * r.tile + 2) * L * N{sizeof(float)};
}

template <int M>
void weights_of(const TileWeights& s, N first, N last, N panel, bool flip, const float* w,
                float* u) {
  constexpr int size = M + 2;
  for (N p = first; p < last; ++p) {
    for (N i = 0; i < s.inner; ++i) {
      for (N lane = 0; lane < panel; lane += L) {
        const N outer = p * panel + lane;
        const N count = min(L, s.outer - outer);
        V taps[9] = {};
        if (count > 0) {
          load_taps(taps, w + outer * s.outer_stride + i * s.inner_stride, s.outer_stride, count,
                    channels_ahead * s.inner_stride, flip);
        }
        V all[size * size];
        apply_both<WeightMatrix<M>, size, 3>(all, taps);
        float* const to = u + (p * s.inner + i) * panel + lane;
#pragma GCC unroll 36
        for (int c = 0; c < size * size; ++c) store(to + c * s.component, all[c]);
      }
    }
  }
}

void weights(const TileWeights& s, N first, N last, N panel, bool flip, const float* w, float* u) {
  s.tile == 2 ? weights_of<2>(s, first, last, panel, flip, w, u)
              : weights_of<4>(s, first, last, panel, flip, w, u);
}

template <int M>
void backward_weights_of(const TileWeights& s, const float* u, float* dw) {
  constexpr int size = M + 2;
  for (N outer = 0; outer < s.outer; outer += L) {
    const N count = min(L, s.outer - outer);
    for (N i = 0; i < s.inner; ++i) {
      V all[size * size];
#pragma GCC unroll 36
      for (int c = 0; c < size * size; ++c) all[c] = load(u + c * s.component + i * s.ld + outer);
      V taps[16] = {};
      apply_both<Adjoint<WeightMatrix<M>>, 3, size>(taps, all);
      float* const to = dw + outer * s.outer_stride + i * s.inner_stride;
      if constexpr (L == 16) {
        transpose<float>(taps);
        for (N l = 0; l < count; ++l) store_n(to + l * s.outer_stride, taps[l], 9);
      } else {
        for (N k = 0; k < 9; ++k) {
          for (N l = 0; l < count; ++l) to[l * s.outer_stride + k] = taps[k][l];
        }
      }
    }
  }
}

void backward_weights(const TileWeights& s, const float* u, float* dw) {
  s.tile == 2 ? backward_weights_of<2>(s, u, dw) : backward_weights_of<4>(s, u, dw);
}

template <int M>
void input_of(const TileRows& r, N pad_h, N pad_w, const float* x, float* v, float* rows) {
  transform_input<M>(r, pad_h, pad_w, x, rows, [&](N tile, N c, const V* all) {
    float* const to = v + tile * r.ld + c;
#pragma GCC unroll 36
    for (int i = 0; i < (M + 2) * (M + 2); ++i) store(to + i * r.component, all[i]);
  });
}

void input(const TileRows& r, N pad_h, N pad_w, const float* x, float* v, void* scratch) {
  float* const rows = static_cast<float*>(scratch);
  r.tile == 2 ? input_of<2>(r, pad_h, pad_w, x, v, rows) : input_of<4>(r, pad_h, pad_w, x, v, rows);
}

template <int M>
void output_of(const TileRows& r, const float* v, const float* bias, Activation activation,
               float* y, float* rows) {
  constexpr int size = M + 2;
  const N pitch = r.across * M;
  const N count = min(r.rows * M, r.height - r.first * M);
  const N plane = r.height * r.width;
  for (N c = 0; c < r.channels; c += L) {
    const N channels = min(L, r.channels - c);
    const V start = bias ? load_n(bias + c, channels) : V{};
    for_tiles<M>(r, pitch, [&](N tile, N at) {
      const float* const from = v + tile * r.ld + c;
      V all[size * size];
#pragma GCC unroll 36
      for (int i = 0; i < size * size; ++i) all[i] = load(from + i * r.component);
      V d[M * M];
      apply_both<OutputMatrix<M>, M, size>(d, all);
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < M; ++j) {
          V result = d[i * M + j] + start;
          result = activate<float>(result, activation);
          store(rows + at + (i * pitch + j) * L, result);
        }
      }
    });
    deinterleave_channels(y + c * plane + r.first * M * r.width, rows, plane, channels,
                          count * r.width, r.width, pitch);
  }
}

void output(const TileRows& r, const float* v, const float* bias, Activation activation, float* y,
            void* scratch) {
  float* const rows = static_cast<float*>(scratch);
  r.tile == 2 ? output_of<2>(r, v, bias, activation, y, rows)
              : output_of<4>(r, v, bias, activation, y, rows);
}

template <int M>
void output_gradient_of(const TileRows& r, const float* dy, float* v, float* rows) {
  transform_gradient<M>(r, dy, rows, [&](N tile, N c, const V* all) {
    float* const to = v + tile * r.ld + c;
#pragma GCC unroll 36
    for (int i = 0; i < (M + 2) * (M + 2); ++i) store(to + i * r.component, all[i]);
  });
}

void output_gradient(const TileRows& r, const float* dy, float* v, void* scratch) {
  float* const rows = static_cast<float*>(scratch);
  r.tile == 2 ? output_gradient_of<2>(r, dy, v, rows) : output_gradient_of<4>(r, dy, v, rows);
}

}  // namespace

constinit const WinogradKernels<float> winograd_f32 = {
    1, &scratch_bytes, &weights, &backward_weights, &input, &output, &output_gradient};

}  // namespace ondine::math::ONDINE_ISA
