// Depthwise convolution of planes that fit a cache. Positions are vectors of channels, so neither
// the width of a plane nor strides and dilations matter, and the copy is padded with zeros.
#include "kernels/simd/conv/channel_interleave.h"
#include "kernels/simd/conv/conv_parts.h"
#include "kernels/simd/matmul/activation.h"
#include "kernels/simd/vector/strided.h"

namespace ondine::math::ONDINE_ISA {
namespace {

// Where the parts of the scratch memory lie: the padded plane, the other plane, the weights by tap,
// the sums by tap, a vector of biases.
template <class T>
struct Layout {
  explicit Layout(const ConvPlane& p)
      : pitch(max((p.out_w - 1) * p.stride_w + (p.kernel_w - 1) * p.dilation_w + 1,
                  p.in_w + p.pad_w)),
        padded(max((p.out_h - 1) * p.stride_h + (p.kernel_h - 1) * p.dilation_h + 1,
                   p.in_h + p.pad_h) *
               pitch * lanes<T>),
        taps(p.kernel_h * p.kernel_w) {}
  N elements(const ConvPlane& p) const {
    return padded + (p.out_h * p.out_w + 2 * taps + 1) * lanes<T>;
  }
  N pitch;
  N padded;  // elements
  N taps;
};

// The convolution that gives dx of a convolution with stride 1.
ConvPlane mirrored(const ConvPlane& p) {
  ConvPlane m = p;
  m.in_h = p.out_h;
  m.in_w = p.out_w;
  m.out_h = p.in_h;
  m.out_w = p.in_w;
  m.pad_h = (p.kernel_h - 1) * p.dilation_h - p.pad_h;
  m.pad_w = (p.kernel_w - 1) * p.dilation_w - p.pad_w;
  return m;
}
bool has_mirror(const ConvPlane& p) {
  const ConvPlane m = mirrored(p);
  return p.stride_h == 1 && p.stride_w == 1 && m.pad_h >= 0 && m.pad_w >= 0;
}

template <class T>
N scratch_bytes(const ConvPlane& p) {
  N elements = Layout<T>(p).elements(p);
  if (has_mirror(p)) {
    const ConvPlane m = mirrored(p);
    elements = max(elements, Layout<T>(m).elements(m));
  }
  return elements * static_cast<N>(sizeof(T));
}

// by_tap[k] holds tap k of all channels.
template <class T>
void spread_weights(T* by_tap, const T* w, N taps, N channels, bool flip) {
  constexpr int L = lanes<T>;
  set_zero(by_tap, taps * L);
  for (N c = 0; c < channels; ++c) {
    for (N k = 0; k < taps; ++k) by_tap[(flip ? taps - 1 - k : k) * L + c] = w[c * taps + k];
  }
}

template <class T>
Vec<T> spread_bias(const T* bias, N channels) {
  return bias ? load_n(bias, channels) : Vec<T>{};
}

// B outputs of a row.
template <class T, int B>
ONDINE_INLINE void outputs(const ConvPlane& p, const T* at, N pitch, const T* w, const Vec<T>& bias,
                           Activation activation, T* y) {
  constexpr int L = lanes<T>;
  Vec<T> acc[B];
#pragma GCC unroll 8
  for (int b = 0; b < B; ++b) acc[b] = bias;
  const N step = p.stride_w * L;
  for (N kh = 0; kh < p.kernel_h; ++kh) {
    const T* tap = at + kh * p.dilation_h * pitch * L;
    for (N kw = 0; kw < p.kernel_w; ++kw, tap += p.dilation_w * L, w += L) {
      const Vec<T> weight = load(w);
#pragma GCC unroll 8
      for (int b = 0; b < B; ++b) acc[b] += weight * load(tap + b * step);
    }
  }
#pragma GCC unroll 8
  for (int b = 0; b < B; ++b) {
    acc[b] = activate<T>(acc[b], activation);
    store(y + b * L, acc[b]);
  }
}

template <class T>
void convolve(const ConvPlane& p, const ChannelBlock& b, N x_image, N y_image, const T* x,
              const T* w, const T* bias, bool flip, Activation activation, T* y, void* scratch) {
  constexpr int L = lanes<T>;
  const Layout<T> layout(p);
  T* const padded = static_cast<T*>(scratch);
  T* const results = padded + layout.padded;
  T* const by_tap = results + p.out_h * p.out_w * L;
  set_zero(padded, layout.padded);
  spread_weights(by_tap, w, layout.taps, b.channels, flip);
  const Vec<T> start = spread_bias(bias, b.channels);
  const N step = p.stride_w * L;
  for (N image = 0; image < b.images; ++image) {
    interleave_channels<T, true>(padded + (p.pad_h * layout.pitch + p.pad_w) * L,
                                 x + image * x_image, p.in_h * p.in_w, b.channels, p.in_h * p.in_w,
                                 p.in_w, layout.pitch);
    T* to = results;
    for (N h = 0; h < p.out_h; ++h) {
      const T* at = padded + h * p.stride_h * layout.pitch * L;
      N left = p.out_w;
      const auto advance = [&](N count) {
        at += count * step;
        to += count * L;
        left -= count;
      };
      for (; left >= 7; advance(7)) {
        outputs<T, 7>(p, at, layout.pitch, by_tap, start, activation, to);
      }
      if (left >= 4) {
        outputs<T, 4>(p, at, layout.pitch, by_tap, start, activation, to);
        advance(4);
      }
      for (; left > 0; advance(1)) {
        outputs<T, 1>(p, at, layout.pitch, by_tap, start, activation, to);
      }
    }
    deinterleave_channels<T, true>(y + image * y_image, results, p.out_h * p.out_w, b.channels,
                                   p.out_h * p.out_w, p.out_w, p.out_w);
  }
}

template <class T>
void forward(const ConvPlane& p, const ChannelBlock& b, const T* x, const T* w, const T* bias,
             Activation activation, T* y, void* scratch) {
  convolve(p, b, b.x_image, b.y_image, x, w, bias, false, activation, y, scratch);
}

// Each output of a row adds to the taps of its window: dx in the padded plane.
template <class T>
void backward_data(const ConvPlane& p, const ChannelBlock& b, const T* dy, const T* w,
                   const T* bias, T* dx, void* scratch) {
  constexpr int L = lanes<T>;
  if (has_mirror(p)) {
    return convolve(mirrored(p), b, b.y_image, b.x_image, dy, w, bias, true, Activation::none, dx,
                    scratch);
  }
  const Layout<T> layout(p);
  T* const padded = static_cast<T*>(scratch);
  T* const dy_copy = padded + layout.padded;
  T* const by_tap = dy_copy + p.out_h * p.out_w * L;
  spread_weights(by_tap, w, layout.taps, b.channels, false);
  const Vec<T> start = spread_bias(bias, b.channels);
  const N step = p.stride_w * L;
  for (N image = 0; image < b.images; ++image) {
    for (N i = 0; i < layout.padded; i += L) store(padded + i, start);
    interleave_channels<T, true>(dy_copy, dy + image * b.y_image, p.out_h * p.out_w, b.channels,
                                 p.out_h * p.out_w, p.out_w, p.out_w);
    for (N h = 0; h < p.out_h; ++h) {
      const T* const row = dy_copy + h * p.out_w * L;
      for (N k = 0; k < layout.taps; ++k) {
        const Vec<T> weight = load(by_tap + k * L);
        T* to = padded + ((h * p.stride_h + k / p.kernel_w * p.dilation_h) * layout.pitch +
                          k % p.kernel_w * p.dilation_w) *
                             L;
        for (N j = 0; j < p.out_w; ++j, to += step) {
          store(to, load(to) + weight * load(row + j * L));
        }
      }
    }
    deinterleave_channels<T, true>(dx + image * b.x_image,
                                   padded + (p.pad_h * layout.pitch + p.pad_w) * L, p.in_h * p.in_w,
                                   b.channels, p.in_h * p.in_w, p.in_w, layout.pitch);
  }
}

// sums[k] += sum over positions of dy and tap k, for K taps. Returns K.
template <class T, int K>
N correlate(const ConvPlane& p, const Layout<T>& layout, const T* padded, const T* dy_copy, N first,
            T* sums) {
  constexpr int L = lanes<T>;
  N offset[K];
  for (N k = 0; k < K; ++k) {
    const N tap = first + k;
    offset[k] =
        (tap / p.kernel_w * p.dilation_h * layout.pitch + tap % p.kernel_w * p.dilation_w) * L;
  }
  const N step = p.stride_w * L;
  // A sum in a register takes about `positions` terms.
  constexpr N positions = 512;
  const N rows = max(1, positions / p.out_w);
  for (N first_row = 0; first_row < p.out_h; first_row += rows) {
    Vec<T> acc[K] = {};
    const N last_row = first_row + rows < p.out_h ? first_row + rows : p.out_h;
    for (N h = first_row; h < last_row; ++h) {
      const T* at = padded + h * p.stride_h * layout.pitch * L;
      for (N j = 0; j < p.out_w; ++j, at += step, dy_copy += L) {
        const Vec<T> d = load(dy_copy);
#pragma GCC unroll 16
        for (int k = 0; k < K; ++k) acc[k] += d * load(at + offset[k]);
      }
    }
    T* const to = sums + first * L;
#pragma GCC unroll 16
    for (int k = 0; k < K; ++k) store(to + k * L, load(to + k * L) + acc[k]);
  }
  return K;
}

template <class T>
void backward_weights(const ConvPlane& p, const ChannelBlock& b, const T* x, const T* dy, T* dw,
                      void* scratch) {
  constexpr int L = lanes<T>;
  const Layout<T> layout(p);
  T* const padded = static_cast<T*>(scratch);
  T* const dy_copy = padded + layout.padded;
  T* const sums = dy_copy + p.out_h * p.out_w * L;
  set_zero(padded, layout.padded);
  set_zero(sums, layout.taps * L);
  for (N image = 0; image < b.images; ++image) {
    interleave_channels<T, true>(padded + (p.pad_h * layout.pitch + p.pad_w) * L,
                                 x + image * b.x_image, p.in_h * p.in_w, b.channels,
                                 p.in_h * p.in_w, p.in_w, layout.pitch);
    interleave_channels<T, true>(dy_copy, dy + image * b.y_image, p.out_h * p.out_w, b.channels,
                                 p.out_h * p.out_w, p.out_w, p.out_w);
    for (N k = 0; k < layout.taps;) {
      const N left = layout.taps - k;
      if (left >= 9) {
        k += correlate<T, 9>(p, layout, padded, dy_copy, k, sums);
      } else if (left >= 5) {
        k += correlate<T, 5>(p, layout, padded, dy_copy, k, sums);
      } else {
        k += correlate<T, 1>(p, layout, padded, dy_copy, k, sums);
      }
    }
  }
  for (N c = 0; c < b.channels; ++c) {
    for (N k = 0; k < layout.taps; ++k) dw[c * layout.taps + k] = sums[k * L + c];
  }
}

template <class T>
constexpr DepthwiseChannelKernels<T> kernels_of = {lanes<T>, &scratch_bytes<T>, &forward<T>,
                                                   &backward_data<T>, &backward_weights<T>};

}  // namespace

constinit const DepthwiseChannelKernels<float> depthwise_channels_f32 = kernels_of<float>;
constinit const DepthwiseChannelKernels<double> depthwise_channels_f64 = kernels_of<double>;

}  // namespace ondine::math::ONDINE_ISA
