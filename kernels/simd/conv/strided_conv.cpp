// Convolutions as products whose one factor is read where it lies in copied planes: a row of the
// product is a position of the window (or, for the gradient by the weights, a tap), lanes are
// output channels. Nothing is gathered, whatever the stride.
#include "kernels/simd/conv/strided_parts.h"
#include "kernels/simd/matmul/activation.h"
#include "kernels/simd/matmul/lane_products.h"
#include "kernels/simd/vector/machine.h"
#include "kernels/simd/vector/strided.h"

namespace ondine::math::ONDINE_ISA {
namespace {

using V = Vec<float>;
using strided::panel;

constexpr int L = lanes<float>;
constexpr int max_taps = BlockSizes{6, 6, 5, 4}.of_machine();
constexpr N tap_panels = has_32_registers ? 2 : 1;

struct Products {
  template <int P, int Vectors, int Step>
  static ONDINE_MEMBER void add(V (&acc)[P][Vectors], const float* x, const V (&weights)[Vectors]) {
    if constexpr (Step == 1) return add_products<float, P, Vectors>(acc, x, weights);
#pragma GCC unroll 16
    for (int i = 0; i < P; ++i) {
      const V factor = broadcast(x[i * Step]);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) acc[i][v] += factor * weights[v];
    }
  }
};

void copy(const PlaneCopy& c, N channels, const float* x, float* to) {
  const N begin = min(c.pitch, max(0, c.left));
  const N end = max(begin, min(c.pitch, c.left + c.width));
  for (N channel = 0; channel < channels; ++channel, x += c.height * c.width) {
    for (N row = 0; row < c.rows; ++row, to += c.pitch) {
      const N from = c.first + row;
      if (from < 0 || from >= c.height) {
        set_zero(to, c.pitch);
        continue;
      }
      for (N i = 0; i < begin; ++i) to[i] = 0;
      copy_short(to + begin, x + from * c.width + begin - c.left, end - begin);
      for (N i = end; i < c.pitch; ++i) to[i] = 0;
    }
  }
}

// The output channels of a block are one vector or those of one or two panels.
template <int R, int Vectors>
void tap_block(const StridedRows& r, const float* x, const N* offsets, const float* dy, N dy_panel,
               bool first, float* sums, N sums_panel) {
  V acc[R][Vectors];
  const auto of = [](auto* p, N panel_stride, int v) __attribute__((always_inline)) {
    return p + v / 2 * panel_stride + v % 2 * L;
  };
#pragma GCC unroll 6
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      acc[i][v] = first ? V{} : load(of(sums + i * panel, sums_panel, v));
    }
  }
  const float* tap[R];
#pragma GCC unroll 6
  for (int i = 0; i < R; ++i) tap[i] = x + offsets[i];
  const N end = r.width * r.step;
  for (N h = 0; h < r.rows; ++h) {
    const N start = h * r.row_step;
    for (N w = start; w < start + end; w += r.step, dy += panel) {
      V b[Vectors];
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) b[v] = load(of(dy, dy_panel, v));
#pragma GCC unroll 6
      for (int i = 0; i < R; ++i) {
        const V factor = broadcast(tap[i][w]);
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) acc[i][v] += factor * b[v];
      }
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) store(of(sums + i * panel, sums_panel, v), acc[i][v]);
  }
}

using TapBlock = void (*)(const StridedRows&, const float*, const N*, const float*, N, bool, float*,
                          N);
template <int Vectors, int... I>
TapBlock pick_taps(N count, std::integer_sequence<int, I...>) {
  constexpr TapBlock all[] = {&tap_block<I + 1, Vectors>...};
  return all[count - 1];
}
TapBlock pick_taps(N count, N vectors) {
  constexpr auto every = std::make_integer_sequence<int, max_taps>();
  return vectors == 1   ? pick_taps<1>(count, every)
         : vectors == 2 ? pick_taps<2>(count, every)
                        : pick_taps<2 * tap_panels>(count, every);
}

void taps(const StridedRows& r, const float* x, const N* offsets, const float* dy, N dy_panel,
          bool first, float* sums, N sums_panel) {
  const N vectors = r.lanes <= L ? 1 : r.lanes <= panel ? 2 : 4;
  for (N k = 0; k < r.depth; k += max_taps) {
    pick_taps(min(max_taps, r.depth - k), vectors)(r, x, offsets + k, dy, dy_panel, first,
                                                   sums + k * panel, sums_panel);
  }
}

// Up to L rows of sums transposed, from lane `lane` on.
ONDINE_INLINE void load_transposed(const float* sums, N rows, N lane, V* block) {
#pragma GCC unroll 16
  for (int i = 0; i < L; ++i) block[i] = i < rows ? load(sums + i * panel + lane) : V{};
  transpose<float>(block);
}

void store_channels(const float* sums, N n, N channels, const float* bias, Activation activation,
                    float* y, N ld) {
  for (N c = 0; c < channels; c += L) {
    const N count = min(L, channels - c);
    for (N p = 0; p < n; p += L) {
      const N rows = min(L, n - p);
      V block[L];
      load_transposed(sums + p * panel, rows, c, block);
#pragma GCC unroll 16
      for (int i = 0; i < L; ++i) {
        if (i >= count) break;
        V v = block[i];
        if (bias) v += broadcast(bias[c + i]);
        v = activate<float>(v, activation);
        float* const to = y + (c + i) * ld + p;
        if (rows == L) {
          store(to, v);
        } else {
          store_n(to, v, rows);
        }
      }
    }
  }
}

template <int... I>
ONDINE_INLINE void store_pairs(float* to, const V& even, const V& odd, N n,
                               std::integer_sequence<int, I...>) {
  const V low = __builtin_shufflevector(even, odd, (I / 2 + I % 2 * L)...);
  const V high = __builtin_shufflevector(even, odd, ((I + L) / 2 + I % 2 * L)...);
  store_n<float>(to, low, min(L, n));
  if (n > L) store_n<float>(to + L, high, n - L);
}

void store_interleaved(const float* even, const float* odd, N n, N channels, const float* bias,
                       float* y, N ld) {
  constexpr auto every = std::make_integer_sequence<int, L>();
  for (N c = 0; c < channels; c += L) {
    const N count = min(L, channels - c);
    for (N p = 0; p < n; p += 2 * L) {
      const N rest = min(2 * L, n - p);
      V a[L];
      V b[L];
      load_transposed(even + p / 2 * panel, (rest + 1) / 2, c, a);
      load_transposed(odd + p / 2 * panel, rest / 2, c, b);
#pragma GCC unroll 16
      for (int i = 0; i < L; ++i) {
        if (i >= count) break;
        const V more = broadcast(bias ? bias[c + i] : 0.0f);
        store_pairs(y + (c + i) * ld + p, a[i] + more, b[i] + more, rest, every);
      }
    }
  }
}

}  // namespace

constinit const StridedConvKernels<float> strided_conv_f32 = {
    panel,           tap_panels,        &copy, &strided::positions<Products>, &taps,
    &store_channels, &store_interleaved};

}  // namespace ondine::math::ONDINE_ISA
