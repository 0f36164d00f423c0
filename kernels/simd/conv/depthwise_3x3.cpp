// Depthwise convolution of a plane by a window of 3 x 3 with stride 1. Rows of the plane are copied
// one after another into a ring of rows with zeros around them. A tap is then a shifted pointer,
// and two rows of results share what they load.
#include "kernels/simd/conv/conv_parts.h"
#include "kernels/simd/matmul/activation.h"
#include "kernels/simd/vector/strided.h"

namespace ondine::math::ONDINE_ISA {
namespace {

constexpr N ring_rows = 8;   // what two pairs of rows read, as a power of two
constexpr int together = 2;  // rows of results

template <class T>
N padded_columns(N columns) {
  return (columns + lanes<T> - 1) / lanes<T> * lanes<T> + lanes<T>;
}

// The rows of a plane with `pad` zeros before its rows and columns, each copied before it is read.
template <class T>
class PaddedRows {
 public:
  PaddedRows(const T* plane, const ConvPlane& p, void* scratch)
      : plane_(plane),
        height_(p.in_h),
        width_(p.in_w),
        pad_h_(p.pad_h),
        pad_w_(p.pad_w),
        pitch_(pitch(p)),
        ring_(static_cast<T*>(scratch)),
        next_(p.pad_h) {
    set_zero(ring_, elements(p));
  }
  // Elements of a row: all that windows read and all that is copied.
  static N pitch(const ConvPlane& p) {
    return padded_columns<T>(max(p.out_w + 2, p.in_w + p.pad_w));
  }
  // Elements of the ring and a row of zeros.
  static N elements(const ConvPlane& p) { return (ring_rows + 1) * pitch(p); }

  // Rows before `end` can be read, the last ring_rows of them.
  void copy_up_to(N end) {
    end = min(end, height_ + pad_h_);
    for (; next_ < end; ++next_) {
      copy_short(at(next_) + pad_w_, plane_ + (next_ - pad_h_) * width_, width_);
    }
  }
  const T* operator[](N row) const {
    const bool inside = row >= pad_h_ && row < height_ + pad_h_;
    return inside ? at(row) : ring_ + ring_rows * pitch_;
  }

 private:
  T* at(N row) const { return ring_ + row % ring_rows * pitch_; }

  const T* plane_;
  N height_, width_, pad_h_, pad_w_, pitch_;
  T* ring_;
  N next_;
};

// body(row, tap column, vector of the row's elements there) for what the windows of R rows of
// results read from element j on.
template <class T, int R, class Body>
ONDINE_INLINE void for_elements(const T* const (&rows)[R + 2], N j, Body&& body) {
#pragma GCC unroll 8
  for (int k = 0; k < R + 2; ++k) {
#pragma GCC unroll 3
    for (int kw = 0; kw < 3; ++kw) body(k, kw, load(rows[k] + kw + j));
  }
}

template <class T>
struct Window {
  Vec<T> w[9];
  Vec<T> bias;
  Activation activation;
};

// R rows of n results.
template <class T, int R>
void convolve_rows(const T* const (&rows)[R + 2], const Window<T>& given, N n, T* y) {
  constexpr int L = lanes<T>;
  const Window<T> window = given;
  for (N j = 0; j < n; j += L) {
    Vec<T> acc[R];
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) acc[r] = window.bias;
    for_elements<T, R>(
        rows, j, [&](int k, int kw, const Vec<T>& v) __attribute__((always_inline)) {
#pragma GCC unroll 2
          for (int r = 0; r < R; ++r) {
            const int kh = k - r;
            if (kh >= 0 && kh < 3) acc[r] += window.w[kh * 3 + kw] * v;
          }
        });
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) {
      const Vec<T> result = activate<T>(acc[r], window.activation);
      T* const to = y + r * n + j;
      if (n - j < L) {
        store_n(to, result, n - j);
      } else {
        store(to, result);
      }
    }
  }
}

// Calls body(first row of results, rows that its windows read) for each pair of rows of results
// and the one that is left.
template <class T, class Body>
ONDINE_INLINE void for_row_pairs(PaddedRows<T>& rows, N out_h, Body&& body) {
  rows.copy_up_to(together + 2);
  N h = 0;
  for (; h + together <= out_h; h += together) {
    // Copies the rows of the next pair, long enough before they are read.
    rows.copy_up_to(h + 2 * together + 2);
    const T* const read[] = {rows[h], rows[h + 1], rows[h + 2], rows[h + 3]};
    body(h, read);
  }
  for (; h < out_h; ++h) {
    const T* const read[] = {rows[h], rows[h + 1], rows[h + 2]};
    body(h, read);
  }
}

template <class T>
void convolve(const ConvPlane& p, const T* x, const Window<T>& window, T* y, void* scratch) {
  PaddedRows<T> rows(x, p, scratch);
  for_row_pairs<T>(rows, p.out_h, [&](N h, const auto& read) {
    convolve_rows<T, sizeof(read) / sizeof(read[0]) - 2>(read, window, p.out_w, y + h * p.out_w);
  });
}

template <class T>
Window<T> window_of(const T* w, bool flip, T bias, Activation activation) {
  Window<T> window{{}, broadcast(bias), activation};
  for (int k = 0; k < 9; ++k) window.w[k] = broadcast(w[flip ? 8 - k : k]);
  return window;
}

// The convolution that gives dx.
ConvPlane mirrored(const ConvPlane& p) {
  return {p.out_h, p.out_w, 3, 3, p.in_h, p.in_w, 1, 1, 1, 1, 2 - p.pad_h, 2 - p.pad_w};
}

template <class T>
N scratch_bytes(const ConvPlane& p) {
  const N elements = max(PaddedRows<T>::elements(p), PaddedRows<T>::elements(mirrored(p)));
  return elements * static_cast<N>(sizeof(T));
}

template <class T>
void forward(const ConvPlane& p, const T* x, const T* w, T bias, Activation activation, T* y,
             void* scratch) {
  convolve(p, x, window_of(w, false, bias, activation), y, scratch);
}

template <class T>
void backward_data(const ConvPlane& p, const T* dy, const T* w, T bias, T* dx, void* scratch) {
  convolve(mirrored(p), dy, window_of(w, true, bias, Activation::none), dx, scratch);
}

// acc[k] += dy times tap k, for R rows of dy.
template <class T, int R>
void correlate_rows(const T* const (&rows)[R + 2], N n, const T* dy, Vec<T> (&acc)[9]) {
  constexpr int L = lanes<T>;
  Vec<T> sum[9];
#pragma GCC unroll 9
  for (int k = 0; k < 9; ++k) sum[k] = acc[k];
  for (N j = 0; j < n; j += L) {
    Vec<T> d[R];
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) {
      d[r] = n - j < L ? load_n(dy + r * n + j, n - j) : load(dy + r * n + j);
    }
    for_elements<T, R>(
        rows, j, [&](int k, int kw, const Vec<T>& v) __attribute__((always_inline)) {
#pragma GCC unroll 2
          for (int r = 0; r < R; ++r) {
            const int kh = k - r;
            if (kh >= 0 && kh < 3) sum[kh * 3 + kw] += d[r] * v;
          }
        });
  }
#pragma GCC unroll 9
  for (int k = 0; k < 9; ++k) acc[k] = sum[k];
}

// dw += ...
template <class T>
void backward_weights(const ConvPlane& p, const T* x, const T* dy, T* dw, void* scratch) {
  PaddedRows<T> rows(x, p, scratch);
  // A sum in a register takes about so many terms.
  constexpr N positions = 512;
  const N terms_of_row = (p.out_w + lanes<T> - 1) / lanes<T>;
  Vec<T> acc[9] = {};
  N terms = 0;
  const auto flush = [&] {
    for (int k = 0; k < 9; ++k) {
      dw[k] += lane_sum<T>(acc[k]);
      acc[k] = Vec<T>{};
    }
    terms = 0;
  };
  for_row_pairs<T>(rows, p.out_h, [&](N h, const auto& read) {
    constexpr int results = sizeof(read) / sizeof(read[0]) - 2;
    correlate_rows<T, results>(read, p.out_w, dy + h * p.out_w, acc);
    terms += results * terms_of_row;
    if (terms >= positions) flush();
  });
  flush();
}

template <class T>
constexpr DepthwiseRowKernels<T> kernels_of = {&scratch_bytes<T>, &forward<T>, &backward_data<T>,
                                               &backward_weights<T>};

}  // namespace

constinit const DepthwiseRowKernels<float> depthwise_3x3_f32 = kernels_of<float>;
constinit const DepthwiseRowKernels<double> depthwise_3x3_f64 = kernels_of<double>;

}  // namespace ondine::math::ONDINE_ISA
