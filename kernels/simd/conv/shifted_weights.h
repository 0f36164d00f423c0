// Gradients by the weights of convolutions of stride 1 in the tiles of AMX: an accumulator has 16
// channels of dy and 16 of the source under one tap. Factors at the right are pairs of positions
// of the source, read from the pair that a tap sees.
#pragma once

#include "kernels/simd/conv/shifted_table.h"
#include "kernels/simd/matmul/chunks.h"
#include "kernels/simd/matmul/tiles.h"

namespace ondine::math::ONDINE_ISA {

// One row of bfloat16 that begins with `left` zeros, as pairs; zeros up to `end`, an even number,
// and a vector more. x may be null: zeros alone.
static void round_padded_row(std::uint16_t* to, const float* x, std::int64_t left, std::int64_t n,
                             std::int64_t end) {
  constexpr std::int64_t L = lanes<float>;
  const std::int64_t from = x ? left : 0;
  for (std::int64_t i = 0; i < from; ++i) to[i] = 0;
  const auto part = [&](std::int64_t i) {
    const std::int64_t some = x ? n - i : 0;
    return load_n(x + (some > 0 ? i : 0), some < 0 ? 0 : min_of(some, L));
  };
  for (std::int64_t i = 0; from + i < end; i += 2 * L) {
    const Vec<Pair> pairs = join_pairs(part(i), part(i + L));
    __builtin_memcpy(to + from + i, &pairs, sizeof(pairs));
  }
}

static void pair_positions(const PairedPositions& s, std::int64_t rows, const float* from,
                           Pair* pairs) {
  for (std::int64_t c = 0; c < s.channels; ++c) {
    auto* const to = reinterpret_cast<std::uint16_t*>(pairs + c * s.ld);
    for (std::int64_t r = 0; r < rows; ++r) {
      round_padded_row(to + r * s.row, from + c * s.plane + r * s.source_row, 0, s.width, s.row);
    }
    for (std::int64_t i = rows * s.row; i < s.positions; ++i) to[i] = 0;
  }
}

static void transpose_positions(const PairedPlanes& p, std::int64_t channel, std::int64_t first,
                                std::int64_t rows, std::int64_t count, std::int64_t parity,
                                const float* x, Pair* pairs, void* scratch) {
  constexpr std::int64_t L = lanes<float>;
  auto* const padded = static_cast<std::uint16_t*>(scratch);
  const std::int64_t ld = 2 * count + 64;
  for (std::int64_t c = 0; c < tile_width; ++c) {
    std::uint16_t* const to = padded + c * ld;
    const float* const plane = x + (channel + c) * p.height * p.width;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t at = first + r - p.top;
      const bool inside = channel + c < p.channels && at >= 0 && at < p.height;
      round_padded_row(to + r * p.row, inside ? plane + at * p.width : nullptr, p.left, p.width,
                       p.row);
    }
    for (std::int64_t i = rows * p.row; i < ld; ++i) to[i] = 0;
  }
  for (std::int64_t odd = 0; odd < 2; ++odd) {
    Pair* const to = pairs + odd * parity;
    for (std::int64_t q = 0; q < count; q += L) {
      for (std::int64_t c = 0; c < tile_width; c += L) {
        Vec<Pair> square[L];
        for (std::int64_t i = 0; i < L; ++i) {
          __builtin_memcpy(&square[i], padded + (c + i) * ld + 2 * q + odd, sizeof(square[i]));
        }
        transpose<Pair>(square);
        const std::int64_t some = min_of(L, count - q);
        for (std::int64_t i = 0; i < some; ++i) store(to + (q + i) * tile_width + c, square[i]);
      }
    }
  }
}

// Columns [first, first + Count) of 16 each.
template <int Panels, int Count>
static void add_taps(Tiles& tiles, const ShiftedSums& s, std::int64_t positions, const Pair* dy,
                     const Pair* pairs, std::int64_t first, float* sums) {
  static_assert(Panels * Count <= 4);
  const Pair* right[4];
  for (int j = 0; j < Count; ++j) {
    const std::int64_t offset = s.offsets[(first + j) / s.blocks];
    right[j] =
        pairs + (first + j) % s.blocks * s.block + offset % 2 * s.parity + offset / 2 * tile_width;
  }
  const auto each = [](auto&& body) __attribute__((always_inline)) {
    const auto one = [&]<int J>() __attribute__((always_inline)) {
      if constexpr (J < Count) {
        body.template operator()<J, J>();
        if constexpr (Panels == 2) body.template operator()<J + 2, J>();
      }
    };
    one.template operator()<0>();
    one.template operator()<1>();
    one.template operator()<2>();
    one.template operator()<3>();
  };
  float* const to = sums + first * tile_width;
  const auto place = [&](int t, int j) {
    return to + (Panels == 2 ? t / 2 : 0) * tile_rows * s.ld + j * tile_width;
  };
  each([&]<int T, int J>() { tiles.load<T>(place(T, J), s.ld); });
  const Pair* below = dy + tile_rows * s.dy_row;
  for (std::int64_t p = 0; p < positions; p += 2 * tile_width) {
    const std::int64_t pair = p / 2;
    tiles.load<4>(dy + pair, s.dy_row);
    if constexpr (Panels == 2) tiles.load<5>(below + pair, s.dy_row);
    const auto multiply = [&]<int J>() __attribute__((always_inline)) {
      if constexpr (J < Count) {
        tiles.load<6 + J % 2>(right[J] + pair * tile_width, tile_width);
        tiles.add_products<J, 4, 6 + J % 2>();
        if constexpr (Panels == 2) tiles.add_products<J + 2, 5, 6 + J % 2>();
      }
    };
    multiply.template operator()<0>();
    multiply.template operator()<1>();
    multiply.template operator()<2>();
    multiply.template operator()<3>();
  }
  each([&]<int T, int J>() { tiles.store<T>(place(T, J), s.ld); });
}

template <int Panels>
static void taps(const ShiftedSums& s, std::int64_t positions, const Pair* dy, const Pair* pairs,
                 float* sums) {
  Tiles tiles;
  tiles.shape({16, 16, 16, 16, 16, 16, 16, 16}, {16, 16, 16, 16, 16, 16, 16, 16});
  constexpr int most = 4 / Panels;
  const std::int64_t columns = s.taps * s.blocks;
  std::int64_t j = 0;
  for (; j + most <= columns; j += most) {
    add_taps<Panels, most>(tiles, s, positions, dy, pairs, j, sums);
  }
  for (; j < columns; ++j) add_taps<Panels, 1>(tiles, s, positions, dy, pairs, j, sums);
}

static void any_taps(const ShiftedSums& s, std::int64_t panels, std::int64_t positions,
                     const Pair* dy, const Pair* pairs, float* sums) {
  (panels == 2 ? &taps<2> : &taps<1>)(s, positions, dy, pairs, sums);
}

}  // namespace ondine::math::ONDINE_ISA
