// Depthwise convolution of planes by 3 x 3 taps, where loads take masks of lanes: a strip of
// columns as wide as a vector is walked from row to row. What is loaded of a row is added to the
// sums of all results whose windows it lies in, and lanes outside of the plane read zeros, so that
// nothing is copied and no row is loaded twice.
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

// Lanes of a strip from column j on whose left tap, middle tap and right tap lie in the row.
struct StripMasks {
  ONDINE_MEMBER StripMasks(N j, N width)
      : left(static_cast<Mask>(first_lanes(width + 1 - j) & (j == 0 ? 0xfffeU : 0xffffU))),
        middle(first_lanes(width - j)),
        right(first_lanes(width - 1 - j)) {}
  Mask left, middle, right;
};

// Asks for a row some way behind this one. The first strips of wide rows touch all of a plane, with
// gaps that the hardware does not follow.
template <int Write>
ONDINE_INLINE void ask_ahead(const float* row, N width) {
  constexpr N ahead = 1024;
  for (N i = 0; i < width; i += L) __builtin_prefetch(row + ahead + i, Write);
}

// acc + the products of a row of taps and what lies under it.
ONDINE_INLINE V add_taps(V acc, const V* w, const V (&row)[3]) {
#pragma GCC unroll 3
  for (int k = 0; k < 3; ++k) acc += w[k] * row[k];
  return acc;
}

// S strips side by side, from column j on.
template <int S>
ONDINE_INLINE void convolve_strips(const ConvPlane& p, const float* x, const V (&w)[taps],
                                   const V& bias, Activation activation, N j, float* y) {
  const StripMasks first(j, p.in_w), last(j + (S - 1) * L, p.in_w);
  const N width = p.in_w;
  V above[S], here[S];  // sums of the row before, and of the row that is read
#pragma GCC unroll 2
  for (int s = 0; s < S; ++s) {
    above[s] = V{};
    here[s] = bias;
  }
  const bool asks = j == 0 && width > 2 * L;
  x += j;
  y += j - width;
  for (N r = 0; r < p.in_h; ++r, x += width, y += width) {
    if (asks) {
      ask_ahead<0>(x, width);
      ask_ahead<1>(y + width, width);
    }
#pragma GCC unroll 2
    for (int s = 0; s < S; ++s) {
      const StripMasks& masks = s == 0 ? first : last;
      const float* const at = x + s * L;
      const V row[] = {load_masked(at - 1, masks.left), load_masked(at, masks.middle),
                       load_masked(at + 1, masks.right)};
      above[s] = add_taps(above[s], w + 6, row);
      if (r > 0) store_masked(y + s * L, activate<float>(above[s], activation), masks.middle);
      above[s] = add_taps(here[s], w + 3, row);
      here[s] = add_taps(bias, w, row);
    }
  }
#pragma GCC unroll 2
  for (int s = 0; s < S; ++s) {
    store_masked(y + s * L, activate<float>(above[s], activation),
                 s == 0 ? first.middle : last.middle);
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
ONDINE_INLINE void convolve_pairs(const ConvPlane& p, const float* x, const V (&w)[taps],
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
    here = add_taps(here, w + 3, row);
    V next = bias;
    if (r + 1 < p.in_h) {
      load_pairs(x + p.in_w, masks, row);
      here = add_taps(here, w + 6, row);
      next = add_taps(bias, w, row);
    }
    store_masked(y, activate<float>(here, activation), results);
    here = next;
  }
}

void forward(const ConvPlane& p, N planes, bool flip, const float* x, const float* weights,
             const float* biases, Activation activation, float* y) {
  const N in = p.in_h * p.in_w, out = p.out_h * p.out_w;
  for (N c = 0; c < planes; ++c, x += in, y += out, weights += taps) {
    V w[taps];
    for (int k = 0; k < taps; ++k) w[k] = broadcast(weights[flip ? taps - 1 - k : k]);
    const V bias = broadcast(biases ? biases[c] : 0.0F);
    N j = 0;
    for (; p.stride_w == 2 && j < p.out_w; j += L) {
      convolve_pairs(p, x, w, bias, activation, j, y);
    }
    if (p.stride_w == 2) continue;
    for (; p.in_w - j > L; j += 2 * L) convolve_strips<2>(p, x, w, bias, activation, j, y);
    if (j < p.in_w) convolve_strips<1>(p, x, w, bias, activation, j, y);
  }
}

// acc[k] += sum over S strips of dy and tap k of x, from column j on.
template <int S>
ONDINE_INLINE void correlate_strips(const ConvPlane& p, const float* x, const float* dy, N j,
                                    V (&acc)[taps]) {
  const StripMasks first(j, p.in_w), last(j + (S - 1) * L, p.in_w);
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
    here[s] = load_masked(dy + s * L, s == 0 ? first.middle : last.middle);
  }
  for (N left = p.in_h; left > 0; --left, x += width) {
    if (asks) {
      ask_ahead<0>(x, width);
      ask_ahead<0>(dy, width);
    }
    dy += width;
#pragma GCC unroll 2
    for (int s = 0; s < S; ++s) {
      const StripMasks& masks = s == 0 ? first : last;
      const float* const at = x + s * L;
      const V below = load_masked(dy + s * L, left > 1 ? masks.middle : Mask{0});
      const V row[] = {load_masked(at - 1, masks.left), load_masked(at, masks.middle),
                       load_masked(at + 1, masks.right)};
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

void backward_weights(const ConvPlane& p, N images, N image, const float* x, const float* dy,
                      float* dw) {
  // A sum in a register takes about so many terms.
  constexpr N most = 512;
  V total[taps] = {}, acc[taps] = {};
  N terms = 0;
  for (N i = 0; i < images; ++i, x += image, dy += image) {
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
