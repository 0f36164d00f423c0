// Convolution of a plane by a kernel. A band of rows is copied with its padding, cut by phase (row
// and column modulo the strides) and all rows of a phase end to end. Each tap of the window is then
// one shifted pointer, and outputs of all rows are one long row, with gaps where rows meet.
#include "kernels/simd/conv/conv_parts.h"
#include "kernels/simd/conv/row_taps.h"
#include "kernels/simd/matmul/activation.h"

namespace ondine::math::ONDINE_ISA {
namespace {

constexpr N band_bytes = 96 * 1024;

// How many of `wanted` rows of a band to take, `more` rows always being needed.
template <class T>
ONDINE_INLINE N fitting_rows(N wanted, N elements_of_row, N more) {
  constexpr N max_elements = band_bytes / static_cast<N>(sizeof(T));
  if ((wanted + more) * elements_of_row <= max_elements) return wanted;
  return max(1, min(wanted, max_elements / elements_of_row - more));
}

// Where the copied rows lie. Phase (a, q) has at row r, element j what the padded plane has at row
// r stride_h + a, column j stride_w + q.
template <class T>
struct Band {
  explicit Band(const ConvPlane& p) {
    const N reach_h = (p.kernel_h - 1) * p.dilation_h;
    const N reach_w = (p.kernel_w - 1) * p.dilation_w;
    phases_h = min(p.stride_h, reach_h + 1);
    phases_w = min(p.stride_w, reach_w + 1);
    pitch = max(1, p.out_w + quotient(reach_w, p.stride_w));
    const N more = quotient(reach_h, p.stride_h);
    outputs = fitting_rows<T>(p.out_h, pitch * (phases_h * phases_w + 2), more);
    rows = outputs + more;
    size = rows * pitch;
  }
  N elements() const { return phases_h * phases_w * size + padding; }
  static constexpr N padding = 4 * lanes<T>;
  N phases_h, phases_w;
  N pitch;
  N outputs;  // output rows of a band
  N rows;     // of a phase
  N size;     // of a phase
};

// Zeros around dy, for the gradient by x: row r, element j of the copy is row r + row0 - margin_h,
// column j + column0 - margin_w of dy.
template <class T>
struct GradientBand {
  explicit GradientBand(const ConvPlane& p) {
    margin_h = quotient((p.kernel_h - 1) * p.dilation_h, p.stride_h);
    margin_w = quotient((p.kernel_w - 1) * p.dilation_w, p.stride_w);
    row0 = quotient(p.pad_h, p.stride_h);
    column0 = quotient(p.pad_w, p.stride_w);
    row1 = quotient(p.in_h - 1 + p.pad_h, p.stride_h) + 1;
    columns = quotient(p.in_w - 1 + p.pad_w, p.stride_w) + 1 - column0;
    pitch = max(1, columns + margin_w);
    rows = fitting_rows<T>(row1 - row0, pitch * (p.stride_w + 1), margin_h);
    size = (rows + margin_h) * pitch;
  }
  N elements(const ConvPlane& p) const { return (p.stride_w + 1) * (size + 4 * lanes<T>); }
  N margin_h, margin_w;
  N row0, row1;
  N column0, columns;
  N pitch;
  N rows;  // of a phase of dx, of a band
  N size;
};

template <class T>
N scratch_bytes(const ConvPlane& p) {
  const Band<T> band(p);
  const N forward = band.elements() + band.size + 2 * Band<T>::padding;
  return max(forward, GradientBand<T>(p).elements(p)) * static_cast<N>(sizeof(T));
}

// One row of x into its phases.
template <class T>
void copy_row(const ConvPlane& p, const Band<T>& band, const T* x, N row, T* dst) {
  const T* const src = x + row * p.in_w;
  const bool inside = row >= 0 && row < p.in_h;
  if (inside && p.stride_w == 2 && band.phases_w == 2) {
    // Both phases at once where both are inside.
    const N begin = min(band.pitch, divide_up(max(0, p.pad_w), 2));
    const N end = max(begin, min(band.pitch, (p.in_w + p.pad_w) / 2));
    T* const even = dst;
    T* const odd = dst + band.size;
    const auto edge = [&](N j) {
      const N column = 2 * j - p.pad_w;
      even[j] = column >= 0 && column < p.in_w ? src[column] : T{0};
      odd[j] = column + 1 >= 0 && column + 1 < p.in_w ? src[column + 1] : T{0};
    };
    for (N j = 0; j < begin; ++j) edge(j);
    split_pairs(even + begin, odd + begin, src + 2 * begin - p.pad_w, end - begin,
                std::make_integer_sequence<int, lanes<T>>());
    for (N j = end; j < band.pitch; ++j) edge(j);
    return;
  }
  for (N q = 0; q < band.phases_w; ++q, dst += band.size) {
    if (!inside) {
      set_zero(dst, band.pitch);
      continue;
    }
    // Elements j with 0 <= j stride + q - pad < in_w.
    const N begin = min(band.pitch, q >= p.pad_w ? 0 : divide_up(p.pad_w - q, p.stride_w));
    const N past = p.in_w + p.pad_w - q;
    const N end = max(begin, min(band.pitch, past > 0 ? divide_up(past, p.stride_w) : 0));
    for (N j = 0; j < begin; ++j) dst[j] = 0;
    const N shift = q - p.pad_w;
    if (p.stride_w == 1) {
      copy_short(dst + begin, src + begin + shift, end - begin);
    } else {
      for (N j = begin; j < end; ++j) dst[j] = src[j * p.stride_w + shift];
    }
    for (N j = end; j < band.pitch; ++j) dst[j] = 0;
  }
}

// Where tap (kh, kw) of output 0 of a band lies.
template <class T>
ONDINE_INLINE const T* tap_at(const ConvPlane& p, const Band<T>& band, const T* rows, N kh, N kw) {
  const N h = kh * p.dilation_h;
  const N w = kw * p.dilation_w;
  return rows + (remainder(h, p.stride_h) * band.phases_w + remainder(w, p.stride_w)) * band.size +
         quotient(h, p.stride_h) * band.pitch + quotient(w, p.stride_w);
}

// The taps of the window in order.
template <class T>
struct TapWalk {
  const ConvPlane& p;
  const Band<T>& band;
  const T* rows;
  N kh = 0;
  N kw = 0;

  const T* next() {
    const T* const at = tap_at(p, band, rows, kh, kw);
    if (++kw == p.kernel_w) {
      kw = 0;
      ++kh;
    }
    return at;
  }
};

// Calls body(first output row, number of rows, copied rows, free scratch) for each band.
template <class T, class Body>
ONDINE_INLINE void for_bands(const ConvPlane& p, const Band<T>& band, const T* x, void* scratch,
                             Body&& body) {
  T* const rows = static_cast<T*>(scratch);
  T* const rest = rows + band.elements();
  set_zero(rest - Band<T>::padding, Band<T>::padding);
  for (N first = 0; first < p.out_h; first += band.outputs) {
    const N count = min(band.outputs, p.out_h - first);
    for (N a = 0; a < band.phases_h; ++a) {
      for (N r = 0; r < band.rows; ++r) {
        copy_row(p, band, x, (first + r) * p.stride_h + a - p.pad_h,
                 rows + a * band.phases_w * band.size + r * band.pitch);
      }
    }
    body(first, count, rows, rest);
  }
}

template <class T>
void forward(const ConvPlane& p, const T* x, const T* w, T bias, Activation activation, T* y,
             void* scratch) {
  const Band<T> band(p);
  const N all = p.kernel_h * p.kernel_w;
  for_bands(p, band, x, scratch, [&](N first, N count, const T* rows, T* flat) {
    TapWalk<T> walk{p, band, rows};
    for (N from = 0; from < all; from += max_taps) {
      Taps<T> taps;
      for (N k = from; k < min(all, from + max_taps); ++k) {
        taps.tap[taps.count++] = {walk.next(), w[k]};
      }
      sum_rows(taps, count, p.out_w, band.pitch, from == 0, bias,
               from + max_taps >= all ? activation : Activation::none, y + first * p.out_w, p.out_w,
               flat);
    }
  });
}

// One row of dx from its phases, element j of which is column j stride_w + q.
template <class T>
void join_row(const ConvPlane& p, const GradientBand<T>& band, const T* phases, N phase_size,
              T* dx) {
  const N s = p.stride_w;
  N begin = 0;
  N end = band.columns;
  if (s == 2) {
    begin = divide_up(max(0, p.pad_w), 2) - band.column0;
    end = max(begin, (p.in_w + p.pad_w) / 2 - band.column0);
    join_pairs(dx + 2 * (begin + band.column0) - p.pad_w, phases + begin,
               phases + phase_size + begin, end - begin,
               std::make_integer_sequence<int, lanes<T>>());
  }
  for (N q = 0; q < s; ++q) {
    const T* const phase = phases + q * phase_size;
    const auto put = [&](N j) {
      const N column = (j + band.column0) * s + q - p.pad_w;
      if (column >= 0 && column < p.in_w) dx[column] = phase[j];
    };
    if (s == 2) {
      for (N j = 0; j < begin; ++j) put(j);
      for (N j = end; j < band.columns; ++j) put(j);
    } else {
      for (N j = 0; j < band.columns; ++j) put(j);
    }
  }
}

template <class T>
void backward_data(const ConvPlane& p, const T* dy, const T* w, T bias, T* dx, void* scratch) {
  const GradientBand<T> band(p);
  const N phase_size = band.size + 4 * lanes<T>;
  T* const rows = static_cast<T*>(scratch);
  T* const phases = rows + phase_size;
  for (N low = band.row0; low < band.row1; low += band.rows) {
    const N count = min(band.rows, band.row1 - low);
    for (N r = 0; r < count + band.margin_h; ++r) {
      T* const dst = rows + r * band.pitch;
      const N h = r + low - band.margin_h;
      const N shift = band.column0 - band.margin_w;
      const N begin = h < 0 || h >= p.out_h ? band.pitch : min(band.pitch, max(0, -shift));
      const N end = max(begin, min(band.pitch, p.out_w - shift));
      set_zero(dst, begin);
      if (end > begin) copy_short(dst + begin, dy + h * p.out_w + begin + shift, end - begin);
      set_zero(dst + end, band.pitch - end);
    }
    for (N a = 0; a < p.stride_h; ++a) {
      // Rows of dx of this phase: g stride_h + a - pad_h.
      const N g0 = max(low, a >= p.pad_h ? 0 : divide_up(p.pad_h - a, p.stride_h));
      const N past = p.in_h + p.pad_h - a;
      const N g1 = min(low + count, past > 0 ? divide_up(past, p.stride_h) : 0);
      if (g0 >= g1) continue;
      for (N q = 0; q < p.stride_w; ++q) {
        Taps<T> taps;
        bool first = true;
        const auto flush = [&] {
          const bool direct = p.stride_w == 1;
          T* const target = direct ? dx + (g0 * p.stride_h + a - p.pad_h) * p.in_w
                                   : phases + q * phase_size + (g0 - low) * band.pitch;
          sum_rows(taps, g1 - g0, band.columns, band.pitch, first, bias, Activation::none, target,
                   direct ? p.stride_h * p.in_w : band.pitch, direct ? phases : target);
          taps.count = 0;
          first = false;
        };
        for (N kh = 0; kh < p.kernel_h; ++kh) {
          const N h = kh * p.dilation_h;
          if (remainder(h, p.stride_h) != a) continue;
          for (N kw = 0; kw < p.kernel_w; ++kw) {
            const N c = kw * p.dilation_w;
            if (remainder(c, p.stride_w) != q) continue;
            if (taps.count == max_taps) flush();
            taps.tap[taps.count++] = {
                rows + (g0 - low + band.margin_h - quotient(h, p.stride_h)) * band.pitch +
                    band.margin_w - quotient(c, p.stride_w),
                w[kh * p.kernel_w + kw]};
          }
        }
        if (first || taps.count > 0) flush();
      }
      if (p.stride_w == 1) continue;
      for (N g = g0; g < g1; ++g) {
        join_row(p, band, phases + (g - low) * band.pitch, phase_size,
                 dx + (g * p.stride_h + a - p.pad_h) * p.in_w);
      }
    }
  }
}

// dw[i] += sum over n elements of dy tap i, for the next K taps. Returns K.
template <class T, int K>
N correlate(TapWalk<T>& walk, const T* dy, N n, T* dw) {
  constexpr int L = lanes<T>;
  const T* taps[K];
  for (int k = 0; k < K; ++k) taps[k] = walk.next();
  Vec<T> acc[K] = {};
  for (N i = 0; i < n; i += L) {
    const Vec<T> d = load(dy + i);
#pragma GCC unroll 16
    for (int k = 0; k < K; ++k) acc[k] += d * load(taps[k] + i);
  }
#pragma GCC unroll 16
  for (int k = 0; k < K; ++k) dw[k] += lane_sum<T>(acc[k]);
  return K;
}

template <class T>
void backward_weights(const ConvPlane& p, const T* x, const T* dy, T* dw, void* scratch) {
  constexpr int L = lanes<T>;
  const Band<T> band(p);
  const N all = p.kernel_h * p.kernel_w;
  for_bands(p, band, x, scratch, [&](N first, N count, const T* rows, T* flat) {
    const N n = divide_up((count - 1) * band.pitch + p.out_w, L) * L;
    for (N h = 0; h < count; ++h) {
      copy_short(flat + h * band.pitch, dy + (first + h) * p.out_w, p.out_w);
      set_zero(flat + h * band.pitch + p.out_w, band.pitch - p.out_w);
    }
    set_zero(flat + count * band.pitch, L);
    TapWalk<T> walk{p, band, rows};
    for (N k = 0; k < all;) {
      const N left = all - k;
      if (left >= 9) {
        k += correlate<T, 9>(walk, flat, n, dw + k);
      } else if (left >= 5) {
        k += correlate<T, 5>(walk, flat, n, dw + k);
      } else if (left >= 3) {
        k += correlate<T, 3>(walk, flat, n, dw + k);
      } else {
        k += correlate<T, 1>(walk, flat, n, dw + k);
      }
    }
  });
}

template <class T>
constexpr DepthwiseRowKernels<T> kernels_of = {&scratch_bytes<T>, &forward<T>, &backward_data<T>,
                                               &backward_weights<T>};

}  // namespace

constinit const DepthwiseRowKernels<float> depthwise_rows_f32 = kernels_of<float>;
constinit const DepthwiseRowKernels<double> depthwise_rows_f64 = kernels_of<double>;

}  // namespace ondine::math::ONDINE_ISA
