// 3 x 3 windows in Winograd's transformed space; lanes are channels.
#include "kernels/simd/conv/winograd_taps.h"
#include "kernels/simd/matmul/activation.h"
#include "kernels/simd/vector/strided.h"

namespace ondine::math::ONDINE_ISA {
namespace {

template <class Form>
N scratch_bytes(const TileRows& r) {
  constexpr N max_pad = 2;
  const N source = source_rows<Form>(r) * source_pitch<Form>(r, max_pad);
  const N result = r.rows * r.across * Form::tile * Form::tile;
  return max(source, result) * L * N{sizeof(float)};
}

template <int Count>
ONDINE_INLINE void store_components(float* to, N step, const V* all) {
#pragma GCC unroll 25
  for (int i = 0; i < Count; ++i) store(to + i * step, all[i]);
}

template <class Taps>
void weights(const TileWeights& s, N first, N last, N panel, bool flip, const float* w, float* u) {
  for (N p = first; p < last; ++p) {
    for (N lane = 0; lane < panel; lane += L) {
      WeightTaps source(s, p * panel + lane, w);
      float* to = u + p * s.inner * panel + lane;
      for (N i = 0; i < s.inner; ++i, to += panel) {
        V taps[window];
        V all[weight_components];
        source.get(taps, i);
        transform_taps<Taps>(all, taps);
#pragma GCC unroll 16
        for (int c = 0; c < weight_components; ++c) {
          store(to + (flip ? mirrored_component<Taps>(c) : c) * s.component, all[c]);
        }
      }
    }
  }
}

template <class Taps>
void backward_weights(const TileWeights& s, const float* u, float* dw) {
  for (N outer = 0; outer < s.outer; ++outer) {
    for (N inner = 0; inner < s.inner; inner += L) {
      const N count = min(L, s.inner - inner);
      const float* const from = u + outer * s.ld + inner;
      V all[weight_components];
#pragma GCC unroll 16
      for (int c = 0; c < weight_components; ++c) all[c] = load(from + c * s.component);
      V taps[window];
      transform_back<Taps>(taps, all);
      float* const to = dw + outer * s.outer_stride + inner * window;
      join_taps(to, taps, count);
    }
  }
}

template <class Form>
void input(const TileRows& r, N pad_h, N pad_w, const float* x, float* v, void* scratch) {
  transform_input<Form>(
      r, pad_h, pad_w, x, static_cast<float*>(scratch), [&](N which, N c, const V* all) {
        store_components<Form::sources * Form::sources>(v + which * r.ld + c, r.component, all);
      });
}

template <class Form>
void output(const TileRows& r, const float* v, const float* bias, Activation activation, float* y,
            void* scratch) {
  constexpr int tile = Form::tile, results = Form::results;
  float* const rows = static_cast<float*>(scratch);
  const N pitch = r.across * tile;
  const N count = min(r.rows * tile, r.height - r.first * tile);
  const N plane = r.height * r.width;
  for (N c = 0; c < r.channels; c += L) {
    const N channels = min(L, r.channels - c);
    const V start = bias ? load_n(bias + c, channels) : V{};
    for_tiles(r, pitch, tile, [&](N which, N at) {
      const float* const from = v + which * r.ld + c;
      V all[results * results];
#pragma GCC unroll 25
      for (int i = 0; i < results * results; ++i) all[i] = load(from + i * r.component);
      V d[tile * tile];
      apply_both<typename Form::Output, tile, results>(d, all);
#pragma GCC unroll 4
      for (int i = 0; i < tile; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < tile; ++j) {
          V result = d[i * tile + j] + start;
          result = activate<float>(result, activation);
          const N to = Form::place(i, r.odd_h) * pitch + Form::place(j, r.odd_w);
          store(rows + at + to * L, result);
        }
      }
    });
    deinterleave_channels(y + c * plane + r.first * tile * r.width, rows, plane, channels,
                          count * r.width, r.width, pitch);
  }
}

template <class Form>
void output_gradient(const TileRows& r, const float* dy, float* v, void* scratch) {
  transform_gradient<Form>(r, dy, static_cast<float*>(scratch), [&](N which, N c, const V* all) {
    store_components<Form::results * Form::results>(v + which * r.ld + c, r.component, all);
  });
}

template <class Form, class Taps>
constexpr WinogradTransforms<float> transforms = {&scratch_bytes<Form>,    &weights<Taps>,
                                                  &backward_weights<Taps>, &input<Form>,
                                                  &output<Form>,           &output_gradient<Form>};

}  // namespace

constinit const WinogradKernels<float> winograd_f32 = {
    1,
    transforms<UnitTiles, UnitTaps>,
    transforms<StridedTiles, StridedTaps>,
    {&scratch_bytes<StridedBackTiles>, &weights<StridedTaps>, nullptr, &input<StridedBackTiles>,
     &output<StridedBackTiles>, nullptr}};

}  // namespace ondine::math::ONDINE_ISA
