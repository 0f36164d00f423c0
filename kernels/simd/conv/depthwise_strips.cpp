// Depthwise convolution of planes by 3 x 3 or 5 x 5 taps, where loads take masks of lanes: a strip
// of columns as wide as a vector is walked from row to row. What is loaded of a row is added to the
// sums of all results in whose windows it lies. Lanes outside of the plane read zeros, so that
// nothing is copied.
#include "kernels/simd/conv/conv_parts.h"
#include "kernels/simd/matmul/activation.h"

namespace ondine::math::ONDINE_ISA {

#if defined(__AVX512F__)
namespace {

using V = Vec<float>;
using Mask = __mmask16;
constexpr int L = lanes<float>;
constexpr int taps = 9;

ONDINE_INLINE V load_masked(const float* p, Mask mask) {
  return reinterpret_cast<V>(_mm512_maskz_loadu_ps(mask, p));
}
ONDINE_INLINE void store_masked(float* p, const V& v, Mask mask) {
  _mm512_mask_storeu_ps(p, mask, reinterpret_cast<__m512>(v));
}

// The first n lanes, of those that there are.
ONDINE_INLINE Mask first_lanes(N n) {
  return static_cast<Mask>(n >= L ? 0xffffU : n > 0 ? (1U << n) - 1 : 0U);
}

// For each column of K taps, the lanes of a strip from column j on whose tap lies in the row.
template <int K>
struct StripMasks {
  ONDINE_MEMBER StripMasks(N j, N width) {
    for (int k = 0; k < K; ++k) {
      const N shift = k - K / 2;
      of[k] = static_cast<Mask>(first_lanes(width - j - shift) & ~first_lanes(-shift - j));
    }
  }
  ONDINE_MEMBER Mask middle() const { return of[K / 2]; }
  Mask of[K];
};

// What lies under each column of taps.
template <int K>
ONDINE_INLINE void load_row(const float* at, const StripMasks<K>& masks, V (&row)[K]) {
#pragma GCC unroll 8
  for (int k = 0; k < K; ++k) row[k] = load_masked(at + k - K / 2, masks.of[k]);
}

// Asks for a row some way behind this one. The first strips of wide rows touch all of a plane, with
// gaps that the hardware does not follow.
template <int Write>
ONDINE_INLINE void ask_ahead(const float* row, N width) {
  constexpr N ahead = 1024;
  for (N i = 0; i < width; i += L) __builtin_prefetch(row + ahead + i, Write);
}

// acc + the products of a row of taps and what lies under it.
template <int K>
ONDINE_INLINE V add_taps(V acc, const V* w, const V (&row)[K]) {
#pragma GCC unroll 8
  for (int k = 0; k < K; ++k) acc += w[k] * row[k];
  return acc;
}

// S strips side by side, from column j on, by K x K taps.
template <int K, int S>
ONDINE_INLINE void convolve_strips(const ConvPlane& p, const float* x, const V (&w)[K * K],
                                   const V& bias, Activation activation, N j, float* y) {
  constexpr int half = K / 2;
  const StripMasks<K> first(j, p.in_w), last(j + (S - 1) * L, p.in_w);
  const N width = p.in_w;
  const bool asks = j == 0 && width > 2 * L;
  V sums[S][K - 1];  // of the results from row r - half on
#pragma GCC unroll 2
  for (int s = 0; s < S; ++s) {
#pragma GCC unroll 8
    for (int k = 0; k < K - 1; ++k) sums[s][k] = bias;
  }
  const auto finish = [&](N row, int s, const V& sum) __attribute__((always_inline)) {
    if (row < 0) return;
    store_masked(y + row * width + j + s * L, activate<float>(sum, activation),
                 s == 0 ? first.middle() : last.middle());
  };
  for (N r = 0; r < p.in_h; ++r) {
    if (asks) {
      ask_ahead<0>(x + r * width, width);
      ask_ahead<1>(y + r * width, width);
    }
#pragma GCC unroll 2
    for (int s = 0; s < S; ++s) {
      V row[K];
      load_row<K>(x + r * width + j + s * L, s == 0 ? first : last, row);
      finish(r - half, s, add_taps<K>(sums[s][0], w + (K - 1) * K, row));
#pragma GCC unroll 8
      for (int k = 1; k < K - 1; ++k) {
        sums[s][k - 1] = add_taps<K>(sums[s][k], w + (K - 1 - k) * K, row);
      }
      sums[s][K - 2] = add_taps<K>(bias, w, row);
    }
  }
#pragma GCC unroll 2
  for (int s = 0; s < S; ++s) {
#pragma GCC unroll 8
    for (int k = 0; k < half; ++k) finish(p.in_h - half + k, s, sums[s][k]);
  }
}

// What a row of taps with stride 2 reads for a vector of results: two vectors of a row, the
// elements of which are under the middle and the right tap in turns, and under the left one what is
// before.
struct PairMasks {
  ONDINE_MEMBER PairMasks(N j, N width)
      : low(first_lanes(width - 2 * j)), high(first_lanes(width - 2 * j - L)), before(j > 0) {}
  Mask low, high;
  bool before;  // whether there is an element before the strip
};

ONDINE_INLINE void load_pairs(const float* at, const PairMasks& masks, V (&row)[3]) {
  constexpr auto pick = [](const V& a, const V& b, int odd) __attribute__((always_inline)) {
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i which = _mm512_or_si512(even, _mm512_set1_epi32(odd));
    return reinterpret_cast<V>(
        _mm512_permutex2var_ps(reinterpret_cast<__m512>(a), which, reinterpret_cast<__m512>(b)));
  };
  const V low = load_masked(at, masks.low), high = load_masked(at + L, masks.high);
  row[1] = pick(low, high, 0);
  row[2] = pick(low, high, 1);
  const auto before = reinterpret_cast<__m512i>(broadcast(masks.before ? at[-1] : 0.0F));
  row[0] = reinterpret_cast<V>(
      _mm512_maskz_alignr_epi32(0xffff, reinterpret_cast<__m512i>(row[2]), before, L - 1));
}

// A strip of results from column j on, with stride 2. An even row is under the middle row of a
// window, an odd one under the last row of a window and the first of the next.
ONDINE_INLINE void convolve_pairs(const ConvPlane& p, const float* x, const V (&w)[9],
                                  const V& bias, Activation activation, N j, float* y) {
  const PairMasks masks(j, p.in_w);
  const Mask results = first_lanes(p.out_w - j);
  const bool asks = j == 0 && p.out_w > L;
  V here = bias;
  x += 2 * j;
  y += j;
  for (N r = 0; r < p.in_h; r += 2, x += 2 * p.in_w, y += p.out_w) {
    if (asks) {
      ask_ahead<0>(x, 2 * p.in_w);
      ask_ahead<1>(y, p.out_w);
    }
    V row[3];
    load_pairs(x, masks, row);
    here = add_taps<3>(here, w + 3, row);
    V next = bias;
    if (r + 1 < p.in_h) {
      load_pairs(x + p.in_w, masks, row);
      here = add_taps<3>(here, w + 6, row);
      next = add_taps<3>(bias, w, row);
    }
    store_masked(y, activate<float>(here, activation), results);
    here = next;
  }
}

template <int K>
void convolve(const ConvPlane& p, N planes, bool flip, const float* x, const float* weights,
              const float* biases, Activation activation, float* y) {
  constexpr int size = K * K;
  const N in = p.in_h * p.in_w, out = p.out_h * p.out_w;
  for (N c = 0; c < planes; ++c, x += in, y += out, weights += size) {
    V w[size];
    for (int k = 0; k < size; ++k) w[k] = broadcast(weights[flip ? size - 1 - k : k]);
    const V bias = broadcast(biases ? biases[c] : 0.0F);
    N j = 0;
    if constexpr (K == 3) {
      for (; p.stride_w == 2 && j < p.out_w; j += L) {
        convolve_pairs(p, x, w, bias, activation, j, y);
      }
      if (p.stride_w == 2) continue;
      for (; p.in_w - j > L; j += 2 * L) convolve_strips<K, 2>(p, x, w, bias, activation, j, y);
    }
    for (; j < p.in_w; j += L) convolve_strips<K, 1>(p, x, w, bias, activation, j, y);
  }
}

void forward(const ConvPlane& p, N planes, bool flip, const float* x, const float* w,
             const float* bias, Activation activation, float* y) {
  if (p.kernel_w == 5) return convolve<5>(p, planes, flip, x, w, bias, activation, y);
  convolve<3>(p, planes, flip, x, w, bias, activation, y);
}

// acc[k] += sum over S strips of dy and tap k of x, from column j on.
template <int S>
ONDINE_INLINE void correlate_strips(const ConvPlane& p, const float* x, const float* dy, N j,
                                    V (&acc)[taps]) {
  const StripMasks<3> first(j, p.in_w), last(j + (S - 1) * L, p.in_w);
  const N width = p.in_w;
  const bool asks = j == 0 && width > 2 * L;
  x += j;
  dy += j;
  V sum[taps];
#pragma GCC unroll 9
  for (int k = 0; k < taps; ++k) sum[k] = acc[k];
  V above[S], here[S];  // of dy
#pragma GCC unroll 2
  for (int s = 0; s < S; ++s) {
    above[s] = V{};
    here[s] = load_masked(dy + s * L, s == 0 ? first.middle() : last.middle());
  }
  for (N left = p.in_h; left > 0; --left, x += width) {
    if (asks) {
      ask_ahead<0>(x, width);
      ask_ahead<0>(dy, width);
    }
    dy += width;
#pragma GCC unroll 2
    for (int s = 0; s < S; ++s) {
      const StripMasks<3>& masks = s == 0 ? first : last;
      const V below = load_masked(dy + s * L, left > 1 ? masks.middle() : Mask{0});
      V row[3];
      load_row<3>(x + s * L, masks, row);
#pragma GCC unroll 3
      for (int k = 0; k < 3; ++k) {
        sum[k] += below * row[k];
        sum[3 + k] += here[s] * row[k];
        sum[6 + k] += above[s] * row[k];
      }
      above[s] = here[s];
      here[s] = below;
    }
  }
#pragma GCC unroll 9
  for (int k = 0; k < taps; ++k) acc[k] = sum[k];
}

void backward_weights(const ConvPlane& p, N images, const PlaneStrides& next, const float* x,
                      const float* dy, float* dw) {
  // A sum in a register takes about so many terms.
  constexpr N most = 512;
  V total[taps] = {}, acc[taps] = {};
  N terms = 0;
  for (N i = 0; i < images; ++i, x += next.x, dy += next.y) {
    for (N j = 0; j < p.in_w; j += 2 * L) {
      const bool two = p.in_w - j > L;
      two ? correlate_strips<2>(p, x, dy, j, acc) : correlate_strips<1>(p, x, dy, j, acc);
      terms += two ? 2 * p.in_h : p.in_h;
      if (terms < most) continue;
      for (int k = 0; k < taps; ++k) total[k] += acc[k];
      for (int k = 0; k < taps; ++k) acc[k] = V{};
      terms = 0;
    }
  }
  for (int k = 0; k < taps; ++k) dw[k] = lane_sum<float>(total[k] + acc[k]);
}

}  // namespace

constinit const DepthwiseStripKernels depthwise_strips = {L, &forward, &backward_weights};
#else
constinit const DepthwiseStripKernels depthwise_strips = {};
#endif

}  // namespace ondine::math::ONDINE_ISA
