// 3 x 3 windows in Winograd's transformed space; lanes are channels.
#include "kernels/simd/conv/winograd_taps.h"
#include "kernels/simd/matmul/activation.h"
#include "kernels/simd/vector/strided.h"

namespace ondine::math::ONDINE_ISA {
namespace {

N scratch_bytes(const TileRows& r) {
  return (r.rows * tile + 2) * (r.across * tile + 2) * L * N{sizeof(float)};
}

void weights(const TileWeights& s, N first, N last, N panel, bool flip, const float* w, float* u) {
  for (N p = first; p < last; ++p) {
    for (N lane = 0; lane < panel; lane += L) {
      WeightTaps source(s, p * panel + lane, w);
      float* to = u + p * s.inner * panel + lane;
      for (N i = 0; i < s.inner; ++i, to += panel) {
        V taps[window];
        V all[components];
        source.get(taps, i);
        transform_taps(all, taps);
#pragma GCC unroll 16
        for (int c = 0; c < components; ++c) {
          store(to + (flip ? mirrored_component(c) : c) * s.component, all[c]);
        }
      }
    }
  }
}

void backward_weights(const TileWeights& s, const float* u, float* dw) {
  for (N outer = 0; outer < s.outer; ++outer) {
    for (N inner = 0; inner < s.inner; inner += L) {
      const N count = min(L, s.inner - inner);
      const float* const from = u + outer * s.ld + inner;
      V all[components];
#pragma GCC unroll 16
      for (int c = 0; c < components; ++c) all[c] = load(from + c * s.component);
      V taps[window];
      transform_back(taps, all);
      float* const to = dw + outer * s.outer_stride + inner * window;
#if defined(__AVX512F__)
      join_taps(to, taps, count);
#else
      for (N k = 0; k < window; ++k) {
        for (N l = 0; l < count; ++l) to[l * window + k] = taps[k][l];
      }
#endif
    }
  }
}

void input(const TileRows& r, N pad_h, N pad_w, const float* x, float* v, void* scratch) {
  transform_input(r, pad_h, pad_w, x, static_cast<float*>(scratch),
                  [&](N which, N c, const V* all) {
                    float* const to = v + which * r.ld + c;
#pragma GCC unroll 16
                    for (int i = 0; i < components; ++i) store(to + i * r.component, all[i]);
                  });
}

void output(const TileRows& r, const float* v, const float* bias, Activation activation, float* y,
            void* scratch) {
  float* const rows = static_cast<float*>(scratch);
  const N pitch = r.across * tile;
  const N count = min(r.rows * tile, r.height - r.first * tile);
  const N plane = r.height * r.width;
  for (N c = 0; c < r.channels; c += L) {
    const N channels = min(L, r.channels - c);
    const V start = bias ? load_n(bias + c, channels) : V{};
    for_tiles(r, pitch, [&](N which, N at) {
      const float* const from = v + which * r.ld + c;
      V all[components];
#pragma GCC unroll 16
      for (int i = 0; i < components; ++i) all[i] = load(from + i * r.component);
      V d[tile * tile];
      apply_both<OutputMatrix, tile, tile_edge>(d, all);
#pragma GCC unroll 2
      for (int i = 0; i < tile; ++i) {
#pragma GCC unroll 2
        for (int j = 0; j < tile; ++j) {
          V result = d[i * tile + j] + start;
          result = activate<float>(result, activation);
          store(rows + at + (i * pitch + j) * L, result);
        }
      }
    });
    deinterleave_channels(y + c * plane + r.first * tile * r.width, rows, plane, channels,
                          count * r.width, r.width, pitch);
  }
}

void output_gradient(const TileRows& r, const float* dy, float* v, void* scratch) {
  transform_gradient(r, dy, static_cast<float*>(scratch), [&](N which, N c, const V* all) {
    float* const to = v + which * r.ld + c;
#pragma GCC unroll 16
    for (int i = 0; i < components; ++i) store(to + i * r.component, all[i]);
  });
}

}  // namespace

constinit const WinogradKernels<float> winograd_f32 = {
    1, &scratch_bytes, &weights, &backward_weights, &input, &output, &output_gradient};

}  // namespace ondine::math::ONDINE_ISA
