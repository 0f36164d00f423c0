// Convolutions of stride 1 in the tiles of AMX: an accumulator has 16 outer channels at 16
// positions. Factors at the right are the source planes, read from the position that a tap sees.
#include "kernels/simd/conv/shifted_weights.h"
#include "kernels/simd/isa_tables.h"
#include "kernels/simd/matmul/activation.h"
#include "kernels/simd/matmul/chunks.h"
#include "kernels/simd/matmul/tiles.h"

namespace ondine::math::ONDINE_ISA {
namespace {

using N = std::int64_t;

constexpr int L = lanes<float>;
constexpr N block = tile_rows * tile_width;  // floats of a tile of weights

void fill_zeros(Pair* to, N n) {
  for (N i = 0; i < n; ++i) to[i] = 0;
}

// `odd`: null for zeros.
void pair_row(Pair* to, const float* even, const float* odd, N n) {
  for (N i = 0; i < n; i += L) {
    const N some = min_of(L, n - i);
    const Vec<float> high = odd ? load_n(odd + i, some) : Vec<float>{};
    store_n(to + i, pair_lanes(load_n(even + i, some), high), some);
  }
}

void pair_channels(const PairedPlanes& p, N first, N rows, const float* x, Pair* pairs) {
  const N image = p.height * p.width;
  for (N q = 0; q < p.pairs; ++q) {
    Pair* const to = pairs + q * p.plane;
    if (2 * q >= p.channels) {
      fill_zeros(to, p.plane);
      continue;
    }
    const float* const even = x + 2 * q * image;
    const float* const odd = 2 * q + 1 < p.channels ? even + image : nullptr;
    for (N r = 0; r < rows; ++r) {
      Pair* const row = to + r * p.row;
      const N at = first + r - p.top;
      if (at < 0 || at >= p.height) {
        fill_zeros(row, p.row);
        continue;
      }
      fill_zeros(row, p.left);
      pair_row(row + p.left, even + at * p.width, odd ? odd + at * p.width : nullptr, p.width);
      fill_zeros(row + p.left + p.width, p.row - p.left - p.width);
    }
    fill_zeros(to + rows * p.row, p.plane - rows * p.row);
  }
}

void weights(const TileWeights& s, N taps, bool flip, N blocks, N first, N last, const float* w,
             Pair* panels) {
  constexpr N inner = 2 * tile_width;  // channels of a block
  for (N panel = first; panel < last; ++panel) {
    for (N i = 0; i < tile_rows; ++i) {
      const N outer = panel * tile_rows + i;
      for (N b = 0; b < blocks; ++b) {
        const N count = outer < s.outer ? min_of(inner, s.inner - b * inner) : 0;
        const float* const from = w + outer * s.outer_stride + b * inner * s.inner_stride;
        for (N tap = 0; tap < taps; ++tap) {
          alignas(64) float row[inner] = {};
          for (N c = 0; c < count; ++c) row[c] = from[c * s.inner_stride + tap];
          const N at = flip ? taps - 1 - tap : tap;
          Pair* const to = panels + ((panel * taps + at) * blocks + b) * block + i * tile_width;
          for (N c = 0; c < inner; c += 2 * L) {
            store(to + c / 2, join_pairs(load(row + c), load(row + c + L)));
          }
        }
      }
    }
  }
}

template <int Panels>
void positions(const ShiftedProduct& s, const Pair* weights, const Pair* pairs, float* sums) {
  Tiles tiles;
  const auto deep = static_cast<std::uint8_t>(s.deep);
  tiles.shape({16, 16, 16, 16, 16, 16, deep, deep}, {16, 16, 16, 16, deep, deep, 16, 16});
  const Pair* const second = weights + s.panel;
  for (N p = 0; p < s.positions; p += 2 * tile_width) {
    tiles.clear<0>();
    tiles.clear<1>();
    if constexpr (Panels == 2) {
      tiles.clear<2>();
      tiles.clear<3>();
    }
    for (N tap = 0; tap < s.taps; ++tap) {
      const Pair* source = pairs + p + s.offsets[tap];
      for (N b = 0; b < s.blocks; ++b) {
        const N at = (tap * s.blocks + b) * block;
        tiles.load<6>(source, s.plane);
        tiles.load<7>(source + tile_width, s.plane);
        tiles.load<4>(weights + at, tile_width);
        tiles.add_products<0, 4, 6>();
        tiles.add_products<1, 4, 7>();
        if constexpr (Panels == 2) {
          tiles.load<5>(second + at, tile_width);
          tiles.add_products<2, 5, 6>();
          tiles.add_products<3, 5, 7>();
        }
        source += tile_width * s.plane;
      }
    }
    tiles.store<0>(sums + p, s.ld);
    tiles.store<1>(sums + p + tile_width, s.ld);
    if constexpr (Panels == 2) {
      float* const below = sums + p + tile_rows * s.ld;
      tiles.store<2>(below, s.ld);
      tiles.store<3>(below + tile_width, s.ld);
    }
  }
}

void any_positions(const ShiftedProduct& s, N panels, const Pair* weights, const Pair* pairs,
                   float* sums) {
  (panels == 2 ? &positions<2> : &positions<1>)(s, weights, pairs, sums);
}

void store_rows(const ShiftedRows& s, const float* sums, const float* bias, Activation activation,
                float* result) {
  for (N c = 0; c < s.channels; ++c) {
    const Vec<float> more = broadcast(bias ? bias[c] : 0.0F);
    for (N r = 0; r < s.rows; ++r) {
      const float* const from = sums + c * s.ld + r * s.row;
      float* const to = result + c * s.plane + r * s.result_row;
      for (N i = 0; i < s.width; i += L) {
        const N some = min_of(L, s.width - i);
        store_n(to + i, activate<float>(load_n(from + i, some) + more, activation), some);
      }
    }
  }
}

}  // namespace

constinit const ShiftedConvKernels shifted_conv = {
    &pair_channels,       &weights, &any_positions, &store_rows, &pair_positions,
    &transpose_positions, &any_taps};

}  // namespace ondine::math::ONDINE_ISA
