// Packing of panels of bfloat16: elements are rounded to bfloat16 (to nearest, ties to even) on
// the way and lie as pairs of elements that follow each other in k.
#pragma once

#include "kernels/simd/matmul/gemm_pack.h"
#include "kernels/simd/vector/pairs_bf16.h"

namespace ondine::math::ONDINE_ISA {

ONDINE_INLINE std::int64_t pairs_of(std::int64_t k) { return (k + 1) / 2; }

// Where panels of a matrix go: `width` rows or columns each, the next `step` pairs behind. Panels
// may have anything beyond the last row or column, which reaches no element of C that is stored.
struct Panels {
  Pair* to;
  std::int64_t width, step;
};

// Pairs of the first `count` of 2 L elements, zeros behind them.
ONDINE_INLINE Vec<Pair> load_pairs(const float* from, std::int64_t count) {
  constexpr int L = lanes<float>;
  const Vec<float> low = load_n(from, count < L ? count : L);
  const Vec<float> high =
      count > L ? load_n(from + L, count - L < L ? count - L : L) : Vec<float>{};
  return join_pairs(low, high);
}

// Panels, each pairs x width, of a matrix whose `count` rows or columns lie one beside the other:
// element (p, c) is src[p ld + c].
static void pack_beside(const Panels& panels, const float* src, std::int64_t ld, std::int64_t count,
                        std::int64_t k) {
  constexpr int L = lanes<float>;
  constexpr std::int64_t ahead = 24, line = 64 / std::int64_t{sizeof(float)};
  const std::int64_t pairs = pairs_of(k);
  const std::int64_t width = panels.width;
  for (std::int64_t q = 0; q < pairs; ++q) {
    const float* const first = src + 2 * q * ld;
    const bool both = 2 * q + 1 < k;
    // An odd k has a row of zeros behind it, by way of a mask.
    const float* const second = both ? first + ld : first;
    Pair* to = panels.to + q * width;
    std::int64_t c = 0;
    for (; c < count; c += line) {
      __builtin_prefetch(first + ahead * ld + c, 0, 2);
      __builtin_prefetch(second + ahead * ld + c, 0, 2);
    }
    c = 0;
    if (both && width == 2 * L) {
      for (; c + width <= count; c += width, to += panels.step) {
        store(to, pair_lanes(load(first + c), load(second + c)));
        store(to + L, pair_lanes(load(first + c + L), load(second + c + L)));
      }
    }
    for (; c < count; c += width, to += panels.step) {
      for (std::int64_t r = 0; r < width; r += L) {
        const std::int64_t left = count - c - r;
        const std::int64_t some = left < 0 ? 0 : left < L ? left : L;
        const Vec<float> x = load_n(first + c + r, some);
        const Vec<float> y = load_n(second + c + r, both ? some : 0);
        store_n(to + r, pair_lanes(x, y), width - r < L ? width - r : L);
      }
    }
  }
}

// The same of a matrix whose elements follow each other in k: (p, c) is src[c ld + p].
static void pack_along(const Panels& panels, const float* src, std::int64_t ld, std::int64_t count,
                       std::int64_t k) {
  constexpr int L = lanes<float>, half = L / 2;
  const std::int64_t pairs = pairs_of(k);
  const std::int64_t whole = k / (2 * L) * L;
  const std::int64_t width = panels.width;
  Pair* dst = panels.to;
  for (std::int64_t c = 0; c < count; c += width, dst += panels.step) {
    // The last vector of rows spills over; what it spoils is written later.
    for (std::int64_t r = (width - 1) / L * L; r >= 0; r -= L) {
      const std::int64_t left = count - c - r;
      if (left <= 0) continue;
      const float* rows[L];
      for (int i = 0; i < L; ++i) rows[i] = src + (c + r + (i < left ? i : left - 1)) * ld;
      for (std::int64_t q = 0; q < whole; q += L) {
        Pair* const to = hidden(dst + r + q * width);
        if constexpr (L == part_lanes<Pair>) {
          Vec<Pair> block[L];
          for (int i = 0; i < L; ++i) {
            block[i] = join_pairs(load(rows[i] + 2 * q), load(rows[i] + 2 * q + L));
          }
          transpose<Pair>(block);
          for (int i = 0; i < L; ++i) store(to + i * width, block[i]);
        } else {
          turn_halves<Pair>(
              to, width, [&](int i, int h) __attribute__((always_inline)) {
                const std::int64_t at = 2 * (q + h);
                return join_pairs(load(rows[i] + at), load(rows[i + half] + at));
              });
        }
      }
      if (whole == pairs) continue;
      Vec<Pair> last[L];
      for (int i = 0; i < L; ++i) last[i] = load_pairs(rows[i] + 2 * whole, k - 2 * whole);
      transpose<Pair>(last);
      for (std::int64_t q = whole; q < pairs; ++q) store(dst + r + q * width, last[q - whole]);
    }
  }
}

// Rows of k elements as rows of pairs.
static void round_rows(Pair* dst, std::int64_t dst_ld, const float* src, std::int64_t ld,
                       std::int64_t rows, std::int64_t k) {
  constexpr int L = lanes<float>;
  const std::int64_t pairs = pairs_of(k);
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* const from = src + r * ld;
    Pair* const to = dst + r * dst_ld;
    std::int64_t q = 0;
    for (; 2 * (q + L) <= k; q += L) {
      store(to + q, join_pairs(load(from + 2 * q), load(from + 2 * q + L)));
    }
    if (q < pairs) store_n(to + q, load_pairs(from + 2 * q, k - 2 * q), pairs - q);
  }
}

}  // namespace ondine::math::ONDINE_ISA
