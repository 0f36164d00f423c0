// 3 x 3 windows in Winograd's transformed space, components rounded to bfloat16: pairs of channels,
// which a product sums up together, lie in the place of a float.
#include "kernels/simd/conv/winograd_taps.h"
#include "kernels/simd/vector/pairs_bf16.h"

namespace ondine::math::ONDINE_ISA {
namespace {

template <class Taps>
void weights(const TileWeights& s, N first, N last, N panel, bool flip, const float* w, Pair* u) {
  const N pairs = (s.inner + 1) / 2;
  for (N p = first; p < last; ++p) {
    for (N lane = 0; lane < panel; lane += L) {
      WeightTaps source(s, p * panel + lane, w);
      Pair* to = u + p * pairs * panel + lane;
      for (N q = 0; q < pairs; ++q, to += panel) {
        V taps[window];
        V even[weight_components];
        V odd[weight_components];
        source.get(taps, 2 * q);
        transform_taps<Taps>(even, taps);
        source.get(taps, 2 * q + 1);
        transform_taps<Taps>(odd, taps);
#pragma GCC unroll 16
        for (int c = 0; c < weight_components; ++c) {
          const int at = mirrored_component<Taps>(c);
          store(to + (flip ? at : c) * s.component, pair_lanes(even[c], odd[c]));
        }
      }
    }
  }
}

template <class Form>
void input(const TileRows& r, N pad_h, N pad_w, const float* x, float* v, void* scratch) {
  float* const rows = static_cast<float*>(scratch);
  transform_input<Form>(r, pad_h, pad_w, x, rows, [&](N which, N c, const V* all) {
    Pair* const to = v + which * r.ld + c / 2;
#pragma GCC unroll 25
    for (int i = 0; i < Form::sources * Form::sources; ++i) {
      store_pairs(to + i * r.component, all[i]);
    }
  });
}

// Puts components of tiles 2q and 2q + 1 together, an odd last one with zeros.
template <int Count>
class PairedTiles {
 public:
  PairedTiles(const TileRows& rows, Pair* to)
      : to_(to), ld_(rows.ld), component_(rows.component), last_(rows.rows * rows.across - 1) {}

  inline __attribute__((always_inline)) void put(N which, N channel, const V* all) {
    const bool odd = which % 2 != 0;
    if (!odd) {
#pragma GCC unroll 25
      for (int i = 0; i < Count; ++i) even_[i] = all[i];
      if (which != last_) return;
    }
    Pair* const to = to_ + which / 2 * ld_ + channel;
#pragma GCC unroll 25
    for (int i = 0; i < Count; ++i) {
      store(to + i * component_, pair_lanes(even_[i], odd ? all[i] : V{}));
    }
  }

 private:
  Pair* to_;
  N ld_, component_, last_;
  V even_[Count];
};

template <class Form>
void input_pairs(const TileRows& r, N pad_h, N pad_w, const float* x, float* v, void* scratch) {
  PairedTiles<Form::sources * Form::sources> tiles(r, v);
  transform_input<Form>(r, pad_h, pad_w, x, static_cast<float*>(scratch),
                        [&](N which, N c, const V* all) { tiles.put(which, c, all); });
}

template <class Form>
void output_gradient_pairs(const TileRows& r, const float* dy, float* v, void* scratch) {
  PairedTiles<Form::results * Form::results> tiles(r, v);
  transform_gradient<Form>(r, dy, static_cast<float*>(scratch),
                           [&](N which, N c, const V* all) { tiles.put(which, c, all); });
}

template <class Form, class Taps>
void round_factors(WinogradTransforms<float>& table) noexcept {
  table.weights = &weights<Taps>;
  table.input = &input<Form>;
}
template <class Form>
void round_pairs(WinogradTransforms<float>& table) noexcept {
  table.input_pairs = &input_pairs<Form>;
  table.output_gradient_pairs = &output_gradient_pairs<Form>;
}

}  // namespace

void round_components(WinogradKernels<float>& table) noexcept {
  table.channels = 2;
  round_factors<UnitTiles, UnitTaps>(table.unit);
  round_pairs<UnitTiles>(table.unit);
  round_factors<StridedTiles, StridedTaps>(table.strided);
  round_pairs<StridedTiles>(table.strided);
  round_factors<StridedBackTiles, StridedTaps>(table.strided_back);
}

}  // namespace ondine::math::ONDINE_ISA
