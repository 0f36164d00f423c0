// 3 x 3 windows in Winograd's transformed space, components rounded to bfloat16: pairs of channels,
// which a product sums up together, lie in the place of a float.
#include "kernels/simd/conv/winograd_parts.h"
#include "kernels/simd/vector/pairs_bf16.h"

namespace ondine::math::ONDINE_ISA {
namespace {

constexpr int tile = 2;
constexpr int components = (tile + 2) * (tile + 2);

// The components of one inner channel's weights; zeros beyond the last channel.
ONDINE_INLINE void transform_weights(const TileWeights& s, N inner, N outer, bool flip,
                                     const float* w, V* all) {
  V taps[9] = {};
  const N count = min(L, s.outer - outer);
  if (count > 0 && inner < s.inner) {
    load_taps(taps, w + outer * s.outer_stride + inner * s.inner_stride, s.outer_stride, count,
              channels_ahead * s.inner_stride, flip);
  }
  apply_both<WeightMatrix<tile>, tile + 2, 3>(all, taps);
}

void weights(const TileWeights& s, N first, N last, N panel, bool flip, const float* w, float* u) {
  const N pairs = (s.inner + 1) / 2;
  for (N p = first; p < last; ++p) {
    for (N q = 0; q < pairs; ++q) {
      for (N lane = 0; lane < panel; lane += L) {
        V even[components];
        V odd[components];
        transform_weights(s, 2 * q, p * panel + lane, flip, w, even);
        transform_weights(s, 2 * q + 1, p * panel + lane, flip, w, odd);
        Pair* const to = u + (p * pairs + q) * panel + lane;
#pragma GCC unroll 16
        for (int c = 0; c < components; ++c) {
          store(to + c * s.component, pair_lanes(even[c], odd[c]));
        }
      }
    }
  }
}

void input(const TileRows& r, N pad_h, N pad_w, const float* x, float* v, void* scratch) {
  float* const rows = static_cast<float*>(scratch);
  transform_input<tile>(r, pad_h, pad_w, x, rows, [&](N which, N c, const V* all) {
    Pair* const to = v + which * r.ld + c / 2;
#pragma GCC unroll 16
    for (int i = 0; i < components; ++i) store_pairs(to + i * r.component, all[i]);
  });
}

// Puts components of tiles 2q and 2q + 1 together, an odd last one with zeros.
class PairedTiles {
 public:
  PairedTiles(const TileRows& rows, Pair* to)
      : to_(to), ld_(rows.ld), component_(rows.component), last_(rows.rows * rows.across - 1) {}

  inline __attribute__((always_inline)) void put(N which, N channel, const V* all) {
    const bool odd = which % 2 != 0;
    if (!odd) {
#pragma GCC unroll 16
      for (int i = 0; i < components; ++i) even_[i] = all[i];
      if (which != last_) return;
    }
    Pair* const to = to_ + which / 2 * ld_ + channel;
#pragma GCC unroll 16
    for (int i = 0; i < components; ++i) {
      store(to + i * component_, pair_lanes(even_[i], odd ? all[i] : V{}));
    }
  }

 private:
  Pair* to_;
  N ld_, component_, last_;
  V even_[components];
};

void input_pairs(const TileRows& r, N pad_h, N pad_w, const float* x, float* v, void* scratch) {
  PairedTiles tiles(r, v);
  transform_input<tile>(r, pad_h, pad_w, x, static_cast<float*>(scratch),
                        [&](N which, N c, const V* all) { tiles.put(which, c, all); });
}

void output_gradient_pairs(const TileRows& r, const float* dy, float* v, void* scratch) {
  PairedTiles tiles(r, v);
  transform_gradient<tile>(r, dy, static_cast<float*>(scratch),
                           [&](N which, N c, const V* all) { tiles.put(which, c, all); });
}

}  // namespace

void round_components(WinogradKernels<float>& table) noexcept {
  table.channels = 2;
  table.weights = &weights;
  table.input = &input;
  table.input_pairs = &input_pairs;
  table.output_gradient_pairs = &output_gradient_pairs;
}

}  // namespace ondine::math::ONDINE_ISA
