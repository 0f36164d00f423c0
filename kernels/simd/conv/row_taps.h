// Weighted sums of shifted rows: the inner loops of depthwise_rows.cpp.
#pragma once

#include "kernels/simd/conv/conv_parts.h"
#include "kernels/simd/matmul/activation.h"
#include "kernels/simd/vector/strided.h"

namespace ondine::math::ONDINE_ISA {

inline constexpr N max_taps = 32;  // at a time

template <class T>
struct Tap {
  const T* at;
  T weight;
};

template <class T>
struct Taps {
  Tap<T> tap[max_taps];
  N count = 0;
};

// dst[i] = start + sum over taps of weight at[i]; start is the old dst after the first taps.
template <class T, int V>
ONDINE_INLINE void add_taps(const Taps<T>& taps, N i, N last, bool first, T bias,
                            Activation activation, T* dst) {
  constexpr int L = lanes<T>;
  Vec<T> acc[V];
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) {
    const bool part = v == V - 1 && last < L;
    acc[v] = first  ? broadcast<T>(bias)
             : part ? load_n(dst + i + v * L, last)
                    : load(dst + i + v * L);
  }
  for (N t = 0; t < taps.count; ++t) {
    const T weight = taps.tap[t].weight;
    const T* const at = taps.tap[t].at + i;
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) acc[v] += weight * load(at + v * L);
  }
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) {
    acc[v] = activate<T>(acc[v], activation);
    if (v == V - 1 && last < L) {
      store_n(dst + i + v * L, acc[v], last);
    } else {
      store(dst + i + v * L, acc[v]);
    }
  }
}

// Reads up to a vector past the end of each tap.
template <class T>
static void sum_taps(const Taps<T>& taps, N n, bool first, T bias, Activation activation, T* dst) {
  constexpr int L = lanes<T>;
  N i = 0;
  for (; i + 4 * L <= n; i += 4 * L) add_taps<T, 4>(taps, i, L, first, bias, activation, dst);
  const N rest = n - i;
  if (rest == 0) return;
  const N last = (rest - 1) % L + 1;
  switch ((rest + L - 1) / L) {
    case 1:
      return add_taps<T, 1>(taps, i, last, first, bias, activation, dst);
    case 2:
      return add_taps<T, 2>(taps, i, last, first, bias, activation, dst);
    case 3:
      return add_taps<T, 3>(taps, i, last, first, bias, activation, dst);
    default:
      return add_taps<T, 4>(taps, i, last, first, bias, activation, dst);
  }
}

// Rows of outputs: `count` rows of `width` at dst, whose taps lie `pitch` apart. Narrow rows are
// computed as one long row in `flat`, which may be dst if its rows lie far enough apart.
template <class T>
static void sum_rows(const Taps<T>& taps, N count, N width, N pitch, bool first, T bias,
                     Activation activation, T* dst, N dst_pitch, T* flat) {
  if (flat == dst) return sum_taps(taps, (count - 1) * pitch + width, first, bias, activation, dst);
  if (width >= 2 * lanes<T>) {
    Taps<T> row = taps;
    for (N h = 0; h < count; ++h) {
      sum_taps(row, width, first, bias, activation, dst + h * dst_pitch);
      for (N t = 0; t < row.count; ++t) row.tap[t].at += pitch;
    }
    return;
  }
  for (N h = 0; !first && h < count; ++h) copy_short(flat + h * pitch, dst + h * dst_pitch, width);
  sum_taps(taps, (count - 1) * pitch + width, first, bias, activation, flat);
  for (N h = 0; h < count; ++h) copy_short(dst + h * dst_pitch, flat + h * pitch, width);
}

}  // namespace ondine::math::ONDINE_ISA
