// Direct convolution forward: of rows, or of whole planes where these are narrow.
#pragma once

#include "kernels/simd/conv/conv_parts.h"
#include "kernels/simd/matmul/activation.h"
#include "kernels/simd/matmul/lane_products.h"
#include "kernels/simd/vector/machine.h"
#include "kernels/simd/vector/strided.h"

namespace ondine::math::ONDINE_ISA {

namespace direct {

constexpr N max_depth = 1024;
constexpr int block_rows = has_32_registers ? 8 : 4;
constexpr int block_vectors = 3;

// The copy: rows of `pitch` elements, `rows` of them a channel.
struct Copy {
  explicit Copy(const ConvPlane& p)
      : pitch(p.out_w + (p.kernel_w - 1) * p.dilation_w),
        rows(p.out_h + (p.kernel_h - 1) * p.dilation_h) {}
  N pitch, rows;
};

// Where each tap of each channel lies from an output position on.
inline void list_offsets(const ConvPlane& p, N channels, N* offsets) {
  const Copy c(p);
  for (N channel = 0; channel < channels; ++channel) {
    for (N kh = 0; kh < p.kernel_h; ++kh) {
      for (N kw = 0; kw < p.kernel_w; ++kw) {
        *offsets++ = (channel * c.rows + kh * p.dilation_h) * c.pitch + kw * p.dilation_w;
      }
    }
  }
}

// Some output channels of a plane: their weights by tap, and where their results go.
template <class T>
struct Rows {
  const T* weights;
  const T* bias;  // or null
  Activation activation;
  N count;
  T* y;
};

// The taps of each channel: `taps` of them, of which [first, last) count.
struct TapRange {
  N channels, taps;
  N first, last;
};

// The taps that read more than padding for the output rows [top, bottom].
inline TapRange taps_of_rows(const ConvPlane& p, N channels, N top, N bottom) {
  N first = 0;
  while (first < p.kernel_h && bottom + first * p.dilation_h < p.pad_h) ++first;
  N last = p.kernel_h;
  while (last > first && top + (last - 1) * p.dilation_h >= p.pad_h + p.in_h) --last;
  return {channels, p.kernel_h * p.kernel_w, first * p.kernel_w, last * p.kernel_w};
}

template <class T, int V>
ONDINE_INLINE void sum_taps(const Rows<T>& rows, const T* const (&at)[V], const N* offsets,
                            const TapRange& range, Vec<T> (&acc)[block_rows][V]) {
#pragma GCC unroll 8
  for (int r = 0; r < block_rows; ++r) {
    const Vec<T> start = broadcast<T>(rows.bias && r < rows.count ? rows.bias[r] : T{0});
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) acc[r][v] = start;
  }
  for (N channel = 0; channel < range.channels; ++channel) {
    const N end = channel * range.taps + range.last;
    N k = channel * range.taps + range.first;
    for (const T* w = rows.weights + k * block_rows; k < end; ++k, w += block_rows) {
      Vec<T> x[V];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) x[v] = load(at[v] + offsets[k]);
      add_products<T, block_rows, V>(acc, w, x);
    }
  }
}

// V vectors of positions, of which none holds positions of two rows, from row h and `column` on,
// which move past them.
template <class T, int V>
ONDINE_INLINE void in_rows(const ConvPlane& p, const Rows<T>& rows, const T* copies,
                           const N* offsets, N channels, N& h, N& column) {
  constexpr int L = lanes<T>;
  const Copy c(p);
  const N top = h;
  N bottom = h;
  const T* at[V];
  N to[V];
  N count[V];
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) {
    bottom = h;
    at[v] = copies + h * c.pitch + column;
    to[v] = h * p.out_w + column;
    count[v] = min(L, p.out_w - column);
    column += L;
    if (column >= p.out_w) {
      column = 0;
      ++h;
    }
  }
  Vec<T> acc[block_rows][V];
  sum_taps<T, V>(rows, at, offsets, taps_of_rows(p, channels, top, bottom), acc);
#pragma GCC unroll 8
  for (int r = 0; r < block_rows; ++r) {
    if (r >= rows.count) break;
    T* const row = rows.y + r * p.out_h * p.out_w;
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      const Vec<T> result = activate<T>(acc[r][v], rows.activation);
      if (count[v] == L) {
        store(row + to[v], result);
      } else {
        store_n(row + to[v], result, count[v]);
      }
    }
  }
}

template <class T>
ONDINE_INLINE N row_vectors(const ConvPlane& p) {
  return (p.out_w + lanes<T> - 1) / lanes<T>;
}

template <class T>
ONDINE_INLINE void by_rows(const ConvPlane& p, const Rows<T>& rows, const T* copies,
                           const N* offsets, N channels) {
  constexpr int V = block_vectors;
  N h = 0;
  N column = 0;
  N left = p.out_h * row_vectors<T>(p);
  for (; left >= V; left -= V) in_rows<T, V>(p, rows, copies, offsets, channels, h, column);
  if (left == 2) in_rows<T, 2>(p, rows, copies, offsets, channels, h, column);
  if (left == 1) in_rows<T, 1>(p, rows, copies, offsets, channels, h, column);
}

// V vectors of positions of the copy from `first` on; those between the rows of y are left out.
template <class T, int V>
ONDINE_INLINE void through_rows(const ConvPlane& p, const Rows<T>& rows, const T* copies,
                                const N* offsets, N channels, N first) {
  constexpr int L = lanes<T>;
  const Copy c(p);
  const T* at[V];
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) at[v] = copies + first + v * L;
  Vec<T> acc[block_rows][V];
  const N bottom = min((first + V * L - 1) / c.pitch, p.out_h - 1);
  sum_taps<T, V>(rows, at, offsets, taps_of_rows(p, channels, first / c.pitch, bottom), acc);
  T line[V * L];
  for (int r = 0; r < rows.count; ++r) {
    T* const row = rows.y + r * p.out_h * p.out_w;
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) store(line + v * L, activate<T>(acc[r][v], rows.activation));
    N h = first / c.pitch;
    N column = first - h * c.pitch;
    for (N i = 0; i < V * L && h < p.out_h; ++h) {
      const N count = min(p.out_w - column, V * L - i);
      if (count > 0) copy_short(row + h * p.out_w + column, line + i, count);
      i += c.pitch - column;
      column = 0;
    }
  }
}

// Vectors of a plane when they run on from row to row.
template <class T>
ONDINE_INLINE N vectors_through_rows(const ConvPlane& p) {
  return ((p.out_h - 1) * Copy(p).pitch + p.out_w + lanes<T> - 1) / lanes<T>;
}

template <class T>
ONDINE_INLINE void by_planes(const ConvPlane& p, const Rows<T>& rows, const T* copies,
                             const N* offsets, N channels) {
  constexpr int L = lanes<T>;
  constexpr int V = block_vectors;
  const N vectors = vectors_through_rows<T>(p);
  N v = 0;
  for (; v + V <= vectors; v += V) {
    through_rows<T, V>(p, rows, copies, offsets, channels, v * L);
  }
  if (vectors - v == 2) through_rows<T, 2>(p, rows, copies, offsets, channels, v * L);
  if (vectors - v == 1) through_rows<T, 1>(p, rows, copies, offsets, channels, v * L);
}

// Whether vectors that end with a row would leave more lanes idle.
template <class T>
ONDINE_INLINE bool is_narrow(const ConvPlane& p) {
  return 4 * vectors_through_rows<T>(p) < 3 * p.out_h * row_vectors<T>(p);
}

}  // namespace direct

// y = the convolution of copies of `inner` planes, with `outer` rows of weights in panels.
template <class T>
void forward_planes(const ConvPlane& p, N inner, N outer, const T* copies, const T* panels,
                    const T* bias, Activation activation, T* y) {
  const N depth = inner * p.kernel_h * p.kernel_w;
  N offsets[direct::max_depth];
  direct::list_offsets(p, inner, offsets);
  const bool narrow = direct::is_narrow<T>(p);
  for (N o = 0; o < outer; o += direct::block_rows) {
    const direct::Rows<T> rows{panels + o * depth, bias ? bias + o : nullptr, activation,
                               min(direct::block_rows, outer - o), y + o * p.out_h * p.out_w};
    if (narrow) {
      direct::by_planes(p, rows, copies, offsets, inner);
    } else {
      direct::by_rows(p, rows, copies, offsets, inner);
    }
  }
}

}  // namespace ondine::math::ONDINE_ISA
