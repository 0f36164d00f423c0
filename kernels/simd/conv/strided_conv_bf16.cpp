// Factors are pairs of channels rounded to bfloat16.
#include "kernels/simd/conv/strided_parts.h"
#include "kernels/simd/vector/pairs_bf16.h"

namespace ondine::math::ONDINE_ISA {
namespace {

using strided::L;
using strided::panel;
using strided::V;

struct Products {
  template <int P, int Vectors, int Step>
  static ONDINE_MEMBER void add(V (&acc)[P][Vectors], const Pair* x,
                                const Vec<Pair> (&weights)[Vectors]) {
#pragma GCC unroll 16
    for (int i = 0; i < P; ++i) {
      const Vec<Pair> factor = broadcast_pair(x + i * Step);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) {
        acc[i][v] = add_pair_products(acc[i][v], factor, weights[v]);
      }
    }
  }
};

// A row of both planes; no second one: zeros.
ONDINE_INLINE void pair_row(Pair* to, const float* even, const float* odd, N n) {
  N i = 0;
  for (; i + L <= n; i += L) store(to + i, pair_lanes(load(even + i), odd ? load(odd + i) : V{}));
  if (i == n) return;
  const V rest = odd ? load_n(odd + i, n - i) : V{};
  store_n(to + i, pair_lanes(load_n(even + i, n - i), rest), n - i);
}

void copy(const PlaneCopy& c, N channels, const float* x, float* to) {
  const N begin = min(c.pitch, max(0, c.left));
  const N end = max(begin, min(c.pitch, c.left + c.width));
  const N plane = c.height * c.width;
  for (N channel = 0; channel < channels; channel += 2, x += 2 * plane) {
    for (N row = 0; row < c.rows; ++row, to += c.pitch) {
      const N from = c.first + row;
      if (from < 0 || from >= c.height) {
        for (N i = 0; i < c.pitch; ++i) to[i] = 0;
        continue;
      }
      for (N i = 0; i < begin; ++i) to[i] = 0;
      const float* const even = x + from * c.width + begin - c.left;
      pair_row(to + begin, even, channel + 1 < channels ? even + plane : nullptr, end - begin);
      for (N i = end; i < c.pitch; ++i) to[i] = 0;
    }
  }
}

void pair_weights(N channels, N taps, float* w) {
  const N row = taps * panel;
  for (N c = 0; c < channels; c += 2) {
    for (N i = 0; i < row; i += L) {
      const float* const even = w + c * row + i;
      const V odd = c + 1 < channels ? load(even + row) : V{};
      store(w + c / 2 * row + i, pair_lanes(load(even), odd));
    }
  }
}

}  // namespace

void pair_channels(StridedConvKernels<float>& table) noexcept {
  table.copy = &copy;
  table.positions = &strided::positions<Products>;
  table.channels = 2;
  table.pair_weights = &pair_weights;
}

}  // namespace ondine::math::ONDINE_ISA
