// Depthwise convolution of planes by 3 x 3 or 5 x 5 taps, where loads take masks of lanes: a strip
// of columns as wide as a vector is walked from row to row. What is loaded of a row is added to the
// sums of all results in whose windows it lies. Lanes outside of the plane read zeros, so that
// nothing is copied.
#include <type_traits>

#include "kernels/simd/conv/conv_parts.h"
#include "kernels/simd/conv/plane_strips.h"
#include "kernels/simd/conv/strip_pairs.h"
#include "kernels/simd/matmul/activation.h"

namespace ondine::math::ONDINE_ISA {

#if defined(__AVX2__)
namespace {

using V = Vec<float>;
constexpr int L = lanes<float>;
constexpr int taps = 9;

#if defined(__AVX512F__)
constexpr StripLimits window_3x3 = {1, N{512} << 10, N{512} << 10};
constexpr StripLimits window_5x5 = {8, N{512} << 10, N{512} << 10};
constexpr StripLimits strided = {1, N{4} << 20, N{4} << 20};
#else
constexpr StripLimits window_3x3 = {5, 40 * 40 * sizeof(float), 80 * 80 * sizeof(float)};
constexpr StripLimits window_5x5 = {5, N{512} << 10, N{512} << 10};
constexpr StripLimits strided = {5, N{4} << 20, N{4} << 20};
#endif

// Asks for a row some way ahead of this one. The first strips of wide rows touch all of a plane,
// with gaps that the hardware does not follow. Bands of few rows are in a cache.
ONDINE_INLINE bool asks(const ConvPlane& p, N j, N width) {
  constexpr N least = 2048;  // elements of a plane
  return j == 0 && width > 2 * L && p.in_h * p.in_w >= least;
}
template <int Write>
ONDINE_INLINE void ask_ahead(const float* row, N width) {
  constexpr N ahead = 1024;
  for (N i = 0; i < width; i += L) __builtin_prefetch(row + ahead + i, Write);
}

// Bounds between which an activation keeps results. NaN stays NaN.
struct Bounds {
  ONDINE_MEMBER explicit Bounds(Activation activation)
      : low(activation == Activation::none ? -__builtin_inff() : 0.0F),
        high(activation == Activation::relu6 ? 6.0F : __builtin_inff()) {}
  ONDINE_MEMBER V operator()(const V& v) const { return at_most(at_least(v, low), high); }
  float low, high;
};

// acc + the products of a row of taps and what lies under it.
template <int K>
ONDINE_INLINE V add_taps(const V& acc, const V* w, const V (&row)[K]) {
  // With one strip at a time, sums of a row by itself: the next row waits for one addition then.
  constexpr bool apart = L < 16;
  V sum = apart ? w[0] * row[0] : acc + w[0] * row[0];
#pragma GCC unroll 8
  for (int k = 1; k < K; ++k) sum += w[k] * row[k];
  return apart ? acc + sum : sum;
}

// S strips side by side, from column j on, by K x K taps.
template <int K, int S, class Strip>
ONDINE_INLINE void convolve_strips(const ConvPlane& p, const Strip (&strips)[S], const float* x,
                                   const V (&w)[K * K], const V& bias, const Bounds& bounds, N j,
                                   float* y) {
  constexpr int half = K / 2;
  const N width = p.in_w;
  const bool is_asking = asks(p, j, width);
  const N above = K - 1 - p.pad_h;  // rows that the window of the first result has before its last
  V sums[S][K - 1];                 // of the results from row r - above on
#pragma GCC unroll 2
  for (int s = 0; s < S; ++s) {
#pragma GCC unroll 8
    for (int k = 0; k < K - 1; ++k) sums[s][k] = bias;
  }
  const auto finish = [&](N row, int s, const V& sum) __attribute__((always_inline)) {
    if (row < 0) return;
    strips[s].store_middle(y + row * width + j + s * L, bounds(sum));
  };
  for (N r = 0; r < p.in_h; ++r) {
    if (is_asking) {
      ask_ahead<0>(x + r * width, width);
      ask_ahead<1>(y + r * width, width);
    }
#pragma GCC unroll 2
    for (int s = 0; s < S; ++s) {
      V row[K];
      strips[s].load_row(x + r * width + j + s * L, row);
      finish(r - above, s, add_taps<K>(sums[s][0], w + (K - 1) * K, row));
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
    for (int k = 0; k < half; ++k) {
      const N row = p.in_h - above + k;
      if (row < p.out_h) finish(row, s, sums[s][k]);
    }
  }
}

// A strip of results from column j on, with stride 2. Below a first row without padding, an even
// row is under the middle row of a window, an odd one under the last row of a window and the first
// of the next.
template <class Pairs>
ONDINE_INLINE void convolve_pairs(const ConvPlane& p, const Pairs& pairs, const float* x,
                                  const V (&w)[9], const V& bias, const Bounds& bounds, N j,
                                  float* y) {
  const bool is_asking = asks(p, j, p.in_w);
  V here = bias;
  x += Pairs::column(j);
  y += j;
  N rows = p.in_h;
  if (p.pad_h == 0) {
    V row[3];
    pairs.load_row(x, row);
    here = add_taps<3>(bias, w, row);
    x += p.in_w;
    --rows;
  }
  for (N r = 0; r < rows; r += 2, x += 2 * p.in_w, y += p.out_w) {
    if (is_asking) {
      ask_ahead<0>(x, 2 * p.in_w);
      ask_ahead<1>(y, p.out_w);
    }
    V row[3];
    pairs.load_row(x, row);
    here = add_taps<3>(here, w + 3, row);
    V next = bias;
    if (r + 1 < rows) {
      pairs.load_row(x + p.in_w, row);
      here = add_taps<3>(here, w + 6, row);
      next = add_taps<3>(bias, w, row);
    }
    pairs.store_results(y, bounds(here));
    here = next;
  }
}

#if defined(__AVX512F__)
template <int K>
ONDINE_INLINE void convolve_plane(const ConvPlane& p, const float* x, const V (&w)[K * K],
                                  const V& bias, const Bounds& bounds, float* y) {
  using Strip = MaskedStrip<K>;
  N j = 0;
  if constexpr (K == 3) {
    for (; p.in_w - j > L; j += 2 * L) {
      const Strip two[] = {Strip(j, p.in_w), Strip(j + L, p.in_w)};
      convolve_strips<K>(p, two, x, w, bias, bounds, j, y);
    }
  }
  for (; j < p.in_w; j += L) {
    const Strip one[] = {Strip(j, p.in_w)};
    convolve_strips<K>(p, one, x, w, bias, bounds, j, y);
  }
}
template <template <bool> class Pairs = StripPairs>
ONDINE_INLINE void convolve_plane_of_pairs(const ConvPlane& p, const float* x, const V (&w)[9],
                                           const V& bias, const Bounds& bounds, float* y) {
  for (N j = 0; j < p.out_w; j += L) {
    if (Pairs<false>::fits(p, j)) {
      convolve_pairs(p, Pairs<false>(p, j), x, w, bias, bounds, j, y);
    } else {
      convolve_pairs(p, Pairs<true>(p, j), x, w, bias, bounds, j, y);
    }
  }
}
#else
// body(j) for the columns where strips begin. The last strip ends with the row: where it meets the
// one before, both compute the same.
template <class Body>
ONDINE_INLINE void for_strips(N width, Body&& body) {
  for (N j = 0; j < width; j += L) body(max(0, min(j, width - L)));
}

template <int K>
ONDINE_INLINE void convolve_plane(const ConvPlane& p, const float* x, const V (&w)[K * K],
                                  const V& bias, const Bounds& bounds, float* y) {
  for_strips(
      p.in_w, [&](N j) __attribute__((always_inline)) {
        with_strip<K>(
            j, p.in_w, [&](const auto& strip) __attribute__((always_inline)) {
              const std::remove_cvref_t<decltype(strip)> one[] = {strip};
              convolve_strips<K>(p, one, x, w, bias, bounds, j, y);
            });
      });
}
ONDINE_INLINE void convolve_plane_of_pairs(const ConvPlane& p, const float* x, const V (&w)[9],
                                           const V& bias, const Bounds& bounds, float* y) {
  for_strips(
      p.out_w, [&](N j) __attribute__((always_inline)) {
        const auto convolve = [&](const auto& pairs) __attribute__((always_inline)) {
          convolve_pairs(p, pairs, x, w, bias, bounds, j, y);
        };
        const bool last = 2 * (j + L) > p.in_w;
        if (j == 0) {
          last ? convolve(EdgePairs<true, true>(p, j)) : convolve(EdgePairs<true, false>(p, j));
        } else {
          last ? convolve(EdgePairs<false, true>(p, j)) : convolve(EdgePairs<false, false>(p, j));
        }
      });
}
#endif

template <int K>
void convolve(const ConvPlane& p, N planes, bool flip, const float* x, const float* weights,
              const float* biases, const Bounds& bounds, float* y) {
  constexpr int size = K * K;
  const N in = p.in_h * p.in_w, out = p.out_h * p.out_w;
  for (N c = 0; c < planes; ++c, x += in, y += out, weights += size) {
    V w[size];
    for (int k = 0; k < size; ++k) w[k] = broadcast(weights[flip ? size - 1 - k : k]);
    const V bias = broadcast(biases ? biases[c] : 0.0F);
    if constexpr (K == 3) {
      if (p.stride_w == 2) {
        convolve_plane_of_pairs(p, x, w, bias, bounds, y);
        continue;
      }
    }
    convolve_plane<K>(p, x, w, bias, bounds, y);
  }
}

void forward(const ConvPlane& p, N planes, bool flip, const float* x, const float* w,
             const float* bias, Activation activation, float* y) {
  const Bounds bounds(activation);
  if (p.kernel_w == 5) return convolve<5>(p, planes, flip, x, w, bias, bounds, y);
  convolve<3>(p, planes, flip, x, w, bias, bounds, y);
}

#if defined(__AVX512F__)
void forward_split(const ConvPlane& p, N planes, const float* x, const float* weights,
                   const float* biases, Activation activation, float* y) {
  const Bounds bounds(activation);
  for (N c = 0; c < planes; ++c, x += p.in_h * p.in_w, y += p.out_h * p.out_w) {
    V w[taps];
    for (int k = 0; k < taps; ++k) w[k] = broadcast(weights[c * taps + k]);
    const V bias = broadcast(biases ? biases[c] : 0.0F);
    convolve_plane_of_pairs<SplitPairs>(p, x, w, bias, bounds, y);
  }
}
#endif

// acc[k] += sum over S strips of dy and tap k of x, from column j on.
template <int S, class Strip>
ONDINE_INLINE void correlate_strips(const ConvPlane& p, const Strip (&strips)[S], const float* x,
                                    const float* dy, N j, V (&acc)[taps]) {
  const N width = p.in_w;
  const bool is_asking = asks(p, j, width);
  x += j;
  dy += j;
  V sum[taps];
#pragma GCC unroll 9
  for (int k = 0; k < taps; ++k) sum[k] = acc[k];
  V above[S], here[S];  // of dy
#pragma GCC unroll 2
  for (int s = 0; s < S; ++s) {
    above[s] = V{};
    here[s] = strips[s].load_middle(dy + s * L);
  }
  for (N left = p.in_h; left > 0; --left, x += width) {
    if (is_asking) {
      ask_ahead<0>(x, width);
      ask_ahead<0>(dy, width);
    }
    dy += width;
#pragma GCC unroll 2
    for (int s = 0; s < S; ++s) {
      const V below = left > 1 ? strips[s].load_middle(dy + s * L) : V{};
      V row[3];
      strips[s].load_row(x + s * L, row);
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

// Correlates as many strips as are walked together; returns how many.
ONDINE_INLINE N correlate_some(const ConvPlane& p, const float* x, const float* dy, N j,
                               V (&acc)[taps]) {
#if defined(__AVX512F__)
  using Strip = MaskedStrip<3>;
  if (p.in_w - j > L) {
    const Strip two[] = {Strip(j, p.in_w), Strip(j + L, p.in_w)};
    correlate_strips(p, two, x, dy, j, acc);
    return 2;
  }
  const Strip one[] = {Strip(j, p.in_w)};
  correlate_strips(p, one, x, dy, j, acc);
#else
  with_strip<3>(
      j, p.in_w, [&](const auto& strip) __attribute__((always_inline)) {
        const std::remove_cvref_t<decltype(strip)> one[] = {strip};
        correlate_strips(p, one, x, dy, j, acc);
      });
#endif
  return 1;
}

void backward_weights(const ConvPlane& p, N images, const PlaneStrides& next, const float* x,
                      const float* dy, float* dw) {
  // A sum in a register takes about so many terms.
  constexpr N most = 512;
  V total[taps] = {}, acc[taps] = {};
  N terms = 0;
  for (N i = 0; i < images; ++i, x += next.x, dy += next.y) {
    for (N j = 0; j < p.in_w;) {
      const N strips = correlate_some(p, x, dy, j, acc);
      j += strips * L;
      terms += strips * p.in_h;
      if (terms < most) continue;
      for (int k = 0; k < taps; ++k) total[k] += acc[k];
      for (int k = 0; k < taps; ++k) acc[k] = V{};
      terms = 0;
    }
  }
  for (int k = 0; k < taps; ++k) dw[k] = lane_sum<float>(total[k] + acc[k]);
}

}  // namespace

#if defined(__AVX512F__)
constinit const DepthwiseStripKernels depthwise_strips = {
    L, window_3x3, window_5x5, strided, &forward, &backward_weights, &forward_split, &split_rows};
#else
constinit const DepthwiseStripKernels depthwise_strips = {L,       window_3x3, window_5x5,
                                                          strided, &forward,   &backward_weights};
#endif
#else
constinit const DepthwiseStripKernels depthwise_strips = {};
#endif

}  // namespace ondine::math::ONDINE_ISA
