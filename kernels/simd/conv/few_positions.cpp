// Convolution with fewer positions than a vector has lanes to spare: weights and the elements under
// a window are multiplied along the depth, where both are contiguous, so that no lane is idle and
// weights are read once, in order.
#include "kernels/simd/conv/conv_parts.h"
#include "kernels/simd/vector/in_register.h"
#include "kernels/simd/vector/machine.h"

namespace ondine::math::ONDINE_ISA {
namespace {

using V = Vec<float>;

constexpr int L = lanes<float>;
constexpr auto every = std::make_integer_sequence<int, L>();
constexpr N max_positions = 12;
// Positions of a block in registers, and how many output channels it has.
constexpr int max_block = has_32_registers ? 12 : 5;
constexpr int rows_of(int positions) {
  if constexpr (has_32_registers) return positions <= 3 ? 8 : positions <= 6 ? 4 : 2;
  return positions <= 2 ? 4 : 2;
}
constexpr N prefetch_distance = 1024;  // elements, at least

void transpose_columns(N depth, N positions, const float* columns, N ld, float* rows) {
  const N row = (depth + L - 1) / L * L;
  for (N k = 0; k < row; k += L) {
    const N steps = min(L, depth - k);
    for (N p = 0; p < positions; p += L) {
      const N count = min(L, positions - p);
      V block[L];
      for (N i = 0; i < L; ++i) {
        block[i] = i < steps ? load_n(columns + (k + i) * ld + p, count) : V{};
      }
      transpose<float>(block);
      for (N i = 0; i < count; ++i) store(rows + (p + i) * row + k, block[i]);
    }
  }
}

// Lane i: the sum of two lanes D apart, of a where bit D of i is 0, of b where it is 1.
template <int D>
ONDINE_INLINE V add_pairs(V a, V b) {
  exchange<float, D>(a, b, every);
  return a + b;
}

// The sums of the lanes of four vectors.
ONDINE_INLINE void store_lane_sums(const V& a, const V& b, const V& c, const V& d, float* sums) {
  V total = add_pairs<2>(add_pairs<1>(a, b), add_pairs<1>(c, d));
  if constexpr (L > 8) total += rotate_lanes<float, 8>(total, every);
  if constexpr (L > 4) total += rotate_lanes<float, 4>(total, every);
  __builtin_memcpy(sums, &total, 4 * sizeof(float));
}

// A convolution, or its channels from some position of the window on.
struct Dots {
  N depth, ld, outer;
  const float* w;
  const float* rows;
  const float* bias;
  float low, high;  // of the results
  float* y;
  N y_ld;
};

template <int Rows, int Positions>
ONDINE_INLINE void store_block(const Dots& d, N o, const V (&acc)[Rows][Positions]) {
  constexpr int count = Rows * Positions;
  float sums[count + 3];
  const auto at = [&](int i) __attribute__((always_inline)) {
    return i < count ? acc[i / Positions][i % Positions] : V{};
  };
#pragma GCC unroll 12
  for (int i = 0; i < count; i += 4) {
    store_lane_sums(at(i), at(i + 1), at(i + 2), at(i + 3), sums + i);
  }
  for (N r = 0; r < min(Rows, d.outer - o); ++r) {
    float* const y = d.y + (o + r) * d.y_ld;
    const float start = d.bias ? d.bias[o + r] : 0;
    for (int p = 0; p < Positions; ++p) {
      float v = sums[r * Positions + p] + start;
      v = v < d.low ? d.low : v;
      y[p] = v > d.high ? d.high : v;
    }
  }
}

// Positions [0, Positions) of the channels [o, o + Rows).
template <int Rows, int Positions>
ONDINE_INLINE void dot_block(const Dots& d, N o) {
  const N last = d.outer - 1;
  const float* w[Rows];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) w[r] = d.w + min(o + r, last) * d.depth;
  // Prefetches weights that later blocks read. Addresses past the weights may be asked for.
  constexpr N block = N{Rows} * sizeof(float);
  const N ahead = (prefetch_distance / (Rows * d.depth) + 1) * block * d.depth;
  V acc[Rows][Positions] = {};
  const auto step = [&](N k, auto get) __attribute__((always_inline)) {
    V a[Rows];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) a[r] = get(w[r] + k);
#pragma GCC unroll 12
    for (int p = 0; p < Positions; ++p) {
      const V x = load_once(d.rows + p * d.ld + k);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) acc[r][p] += a[r] * x;
    }
  };
  N k = 0;
  for (; k + L <= d.depth; k += L) {
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const auto address = reinterpret_cast<std::uintptr_t>(w[r] + k);
      __builtin_prefetch(reinterpret_cast<const void*>(address + static_cast<std::size_t>(ahead)));
    }
    step(
        k, [](const float* from) __attribute__((always_inline)) { return load(from); });
  }
  if (const N rest = d.depth - k; rest > 0) {
    step(
        k, [rest](const float* from) __attribute__((always_inline)) { return load_n(from, rest); });
  }
  store_block<Rows, Positions>(d, o, acc);
}

template <int Positions>
void run_positions(const Dots& d) {
  constexpr int rows = rows_of(Positions);
  for (N o = 0; o < d.outer; o += rows) dot_block<rows, Positions>(d, o);
}

using Run = void (*)(const Dots&);
template <int... I>
constexpr Run pick_run(N positions, std::integer_sequence<int, I...>) {
  constexpr Run all[] = {&run_positions<I + 1>...};
  return all[positions - 1];
}

void forward(N depth, N positions, N outer, const float* w, const float* rows, const float* bias,
             Activation activation, float* y, N ld) {
  const float infinity = __builtin_inff();
  Dots d{depth, (depth + L - 1) / L * L, outer, w, rows, bias, -infinity, infinity, y, ld};
  if (activation != Activation::none) d.low = 0;
  if (activation == Activation::relu6) d.high = 6;
  const N blocks = (positions + max_block - 1) / max_block;
  const N block = (positions + blocks - 1) / blocks;
  for (N p = 0; p < positions; p += block) {
    const N count = min(block, positions - p);
    pick_run(count, std::make_integer_sequence<int, max_block>())(d);
    d.rows += count * d.ld;
    d.y += count;
  }
}

}  // namespace

constinit const FewPositionsKernels few_positions = {max_positions, L, &transpose_columns,
                                                     &forward};

}  // namespace ondine::math::ONDINE_ISA
