// Convolution of planes with few channels. For each tap of each channel the positions of an output
// row are one shifted vector of the copy, so that a block of output channels and positions is
// computed in registers and nothing is rearranged.
#include "kernels/simd/conv/direct_forward.h"
#include "kernels/simd/vector/in_register.h"
#include "kernels/simd/vector/strided.h"

namespace ondine::math::ONDINE_ISA {
namespace {

using direct::block_rows;
using direct::Copy;
using direct::list_offsets;
using direct::max_depth;
using direct::row_vectors;

constexpr int gradient_rows = block_rows / 2;
constexpr int gradient_taps = 5;

template <class T>
N copy_elements(const ConvPlane& p, N channels) {
  const Copy c(p);
  return channels * c.rows * c.pitch + 2 * lanes<T>;
}

template <class T>
void copy(const ConvPlane& p, N channels, const T* x, T* to) {
  const Copy c(p);
  set_zero(to, copy_elements<T>(p, channels));
  const N width = min(p.in_w, c.pitch - p.pad_w);
  for (N channel = 0; channel < channels; ++channel) {
    T* const plane = to + channel * c.rows * c.pitch + p.pad_h * c.pitch + p.pad_w;
    for (N h = 0; h < min(p.in_h, c.rows - p.pad_h); ++h) {
      copy_short(plane + h * c.pitch, x + (channel * p.in_h + h) * p.in_w, width);
    }
  }
}

template <class T>
void weights(const TileWeights& s, N taps, bool flip, const T* w, T* panels) {
  for (N outer = 0; outer < s.outer; outer += block_rows) {
    for (N inner = 0; inner < s.inner; ++inner) {
      for (N k = 0; k < taps; ++k) {
        const T* const from = w + inner * s.inner_stride + (flip ? taps - 1 - k : k);
        for (N r = 0; r < block_rows; ++r) {
          *panels++ = outer + r < s.outer ? from[(outer + r) * s.outer_stride] : T{0};
        }
      }
    }
  }
}

template <class T>
N dy_elements(const ConvPlane& p, N channels) {
  return channels * p.out_h * row_vectors<T>(p) * lanes<T>;
}

template <class T>
void copy_dy(const ConvPlane& p, N channels, const T* dy, T* to) {
  const N width = row_vectors<T>(p) * lanes<T>;
  for (N row = 0; row < channels * p.out_h; ++row) {
    copy_short(to + row * width, dy + row * p.out_w, p.out_w);
    set_zero(to + row * width + p.out_w, width - p.out_w);
  }
}

template <class T>
void weight_sums(const ConvPlane& p, N inner, N outer, N images, const T* copies,
                 const T* dy_copies, T* sums) {
  constexpr int L = lanes<T>;
  constexpr int R = gradient_rows;
  constexpr int K = gradient_taps;
  const Copy c(p);
  const N taps = p.kernel_h * p.kernel_w;
  const N depth = inner * taps;
  N offsets[max_depth];
  list_offsets(p, inner, offsets);
  const N image_copy = copy_elements<T>(p, inner);
  const N channel = p.out_h * row_vectors<T>(p) * L;
  const N image_dy = outer * channel;
  for (N o = 0; o < outer; o += R) {
    N row[R];
    for (int r = 0; r < R; ++r) row[r] = min(o + r, outer - 1) * channel;
    for (N k = 0; k < depth; k += K) {
      N offset[K];
      for (int j = 0; j < K; ++j) offset[j] = offsets[min(k + j, depth - 1)];
      // Rows for which these taps read more than padding.
      const N end = min(k + K, depth);
      const bool in_plane = k / taps == (end - 1) / taps;
      const N top_tap = in_plane ? k % taps / p.kernel_w : 0;
      const N bottom_tap = in_plane ? (end - 1) % taps / p.kernel_w : p.kernel_h - 1;
      const N first = max(0, p.pad_h - bottom_tap * p.dilation_h);
      const N last = min(p.out_h, p.in_h + p.pad_h - top_tap * p.dilation_h);
      Vec<T> acc[R][K] = {};
      for (N image = 0; image < images; ++image) {
        const T* d = dy_copies + image * image_dy + first * row_vectors<T>(p) * L;
        const T* const planes = copies + image * image_copy;
        for (N h = first; h < last; ++h) {
          for (N column = 0; column < p.out_w; column += L, d += L) {
            const T* const x = planes + h * c.pitch + column;
            Vec<T> gradient[R];
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) gradient[r] = load(d + row[r]);
#pragma GCC unroll 5
            for (int j = 0; j < K; ++j) {
              const Vec<T> tap = load_once(x + offset[j]);
#pragma GCC unroll 4
              for (int r = 0; r < R; ++r) acc[r][j] += gradient[r] * tap;
            }
          }
        }
      }
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 5
        for (int j = 0; j < K; ++j) {
          if (o + r >= outer || k + j >= depth) continue;
          T* const to = sums + ((o + r) * depth + k + j) * L;
          store(to, load(to) + acc[r][j]);
        }
      }
    }
  }
}

template <class T>
void backward_weights(N n, N shards, N shard, const T* sums, T* dw) {
  for (N i = 0; i < n; ++i) {
    Vec<T> total{};
    for (N s = 0; s < shards; ++s) total += load(sums + s * shard + i * lanes<T>);
    dw[i] = lane_sum<T>(total);
  }
}

template <class T>
constexpr DirectKernels<T> kernels_of = {block_rows,      max_depth,           &copy_elements<T>,
                                         &copy<T>,        &weights<T>,         &forward_planes<T>,
                                         &dy_elements<T>, &copy_dy<T>,         lanes<T>,
                                         &weight_sums<T>, &backward_weights<T>};

}  // namespace

constinit const DirectKernels<float> direct_f32 = kernels_of<float>;
constinit const DirectKernels<double> direct_f64 = kernels_of<double>;

}  // namespace ondine::math::ONDINE_ISA
