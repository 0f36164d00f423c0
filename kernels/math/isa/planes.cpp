// Convolution of a plane by a kernel. Rows are copied with their padding and cut by phase (column
// modulo stride), so that the taps of neighbouring outputs are neighbours in memory.
#include "kernels/math/isa/parts.h"
#include "kernels/math/isa/simd.h"

namespace ondine::math::ONDINE_ISA {
namespace {

using N = std::int64_t;

constexpr N band_bytes = 128 * 1024;

ONDINE_INLINE N smaller(N a, N b) { return a < b ? a : b; }
ONDINE_INLINE N larger(N a, N b) { return a > b ? a : b; }
ONDINE_INLINE N divide_up(N a, N b) { return (a + b - 1) / b; }

// The copied rows: row r, phase q, element j is column j stride + q of the padded plane.
template <class T>
struct Band {
  explicit Band(const Plane& p) {
    const N reach = (p.kernel_w - 1) * p.dilation_w;
    phase = p.out_w + reach / p.stride_w + 1 + lanes<T>;
    row = phase * p.stride_w;
    const N reach_h = (p.kernel_h - 1) * p.dilation_h + 1;
    const N fitting = band_bytes / (row * static_cast<N>(sizeof(T)));
    outputs = larger(1, smaller(p.out_h, (fitting - reach_h) / p.stride_h + 1));
    rows = (outputs - 1) * p.stride_h + reach_h;
  }
  N phase;    // elements of a phase of a row
  N row;      // elements of a row
  N outputs;  // output rows of a band
  N rows;     // input rows of a band
};

// dy with zeros on both sides, for the gradient by x.
template <class T>
struct GradientBand {
  explicit GradientBand(const Plane& p) {
    margin = (p.kernel_w - 1) * p.dilation_w / p.stride_w;
    const N columns = divide_up(p.in_w + p.pad_w, p.stride_w);
    row = margin + larger(p.out_w, columns) + lanes<T>;
    const N reach_h = divide_up((p.kernel_h - 1) * p.dilation_h, p.stride_h) + 1;
    const N fitting = band_bytes / (row * static_cast<N>(sizeof(T)));
    inputs = larger(1, smaller(p.in_h, (fitting - reach_h - 1) * p.stride_h));
    rows = inputs / p.stride_h + reach_h + 2;
  }
  N margin;
  N row;
  N inputs;  // rows of dx of a band
  N rows;    // rows of dy of a band
};

template <class T>
N scratch_bytes(const Plane& p) {
  const Band<T> band(p);
  const GradientBand<T> gradient(p);
  return larger(band.rows * band.row, gradient.rows * gradient.row) * static_cast<N>(sizeof(T));
}

template <class T>
void copy_row(const Plane& p, const Band<T>& band, const T* x, N row, T* dst) {
  if (row < 0 || row >= p.in_h) {
    for (N i = 0; i < band.row; ++i) dst[i] = 0;
    return;
  }
  const T* const src = x + row * p.in_w;
  for (N q = 0; q < p.stride_w; ++q, dst += band.phase) {
    // Elements j with 0 <= j stride + q - pad < in_w.
    const N begin = smaller(band.phase, q >= p.pad_w ? 0 : divide_up(p.pad_w - q, p.stride_w));
    const N past = p.in_w + p.pad_w - q;
    const N end = larger(begin, smaller(band.phase, past > 0 ? divide_up(past, p.stride_w) : 0));
    for (N j = 0; j < begin; ++j) dst[j] = 0;
    const T* const from = src + q - p.pad_w;
    if (p.stride_w == 1) {
      if (end > begin) {
        __builtin_memcpy(dst + begin, from + begin,
                         static_cast<std::size_t>(end - begin) * sizeof(T));
      }
    } else if (p.stride_w == 2) {
      for (N j = begin; j < end; ++j) dst[j] = from[j * 2];
    } else {
      for (N j = begin; j < end; ++j) dst[j] = from[j * p.stride_w];
    }
    for (N j = end; j < band.phase; ++j) dst[j] = 0;
  }
}

// Calls body(first output row, last, rows of the band) for each band.
template <class T, class Body>
ONDINE_INLINE void for_bands(const Plane& p, const T* x, void* scratch, Body&& body) {
  const Band<T> band(p);
  T* const rows = static_cast<T*>(scratch);
  for (N first = 0; first < p.out_h; first += band.outputs) {
    const N last = smaller(p.out_h, first + band.outputs);
    const N count = (last - first - 1) * p.stride_h + (p.kernel_h - 1) * p.dilation_h + 1;
    for (N r = 0; r < count; ++r) {
      copy_row(p, band, x, first * p.stride_h + r - p.pad_h, rows + r * band.row);
    }
    body(first, last, rows, band);
  }
}

// Kernel width K, or any when K is 0.
template <class T, int K>
void forward_rows(const Plane& p, N first, N last, const T* rows, const Band<T>& band, const T* w,
                  T bias, bool relu, T* y) {
  constexpr int L = lanes<T>;
  const N kernel_w = K ? K : p.kernel_w;
  for (N h = first; h < last; ++h) {
    const T* const base = rows + (h - first) * p.stride_h * band.row;
    T* const out = y + h * p.out_w;
    for (N j = 0; j < p.out_w; j += L) {
      Vec<T> acc = broadcast<T>(bias);
      for (N kh = 0; kh < p.kernel_h; ++kh) {
        const T* const line = base + kh * p.dilation_h * band.row + j;
#pragma GCC unroll 8
        for (N kw = 0; kw < kernel_w; ++kw) {
          const N column = kw * p.dilation_w;
          acc += w[kh * kernel_w + kw] *
                 load(line + column % p.stride_w * band.phase + column / p.stride_w);
        }
      }
      if (relu) acc = acc < Vec<T>{} ? Vec<T>{} : acc;
      if (j + L <= p.out_w) {
        store(out + j, acc);
      } else {
        store_n(out + j, acc, p.out_w - j);
      }
    }
  }
}

template <class T>
void forward(const Plane& p, const T* x, const T* w, T bias, bool relu, T* y, void* scratch) {
  for_bands(p, x, scratch, [&](N first, N last, const T* rows, const Band<T>& band) {
    if (p.kernel_w == 3) {
      forward_rows<T, 3>(p, first, last, rows, band, w, bias, relu, y);
    } else if (p.kernel_w == 5) {
      forward_rows<T, 5>(p, first, last, rows, band, w, bias, relu, y);
    } else {
      forward_rows<T, 0>(p, first, last, rows, band, w, bias, relu, y);
    }
  });
}

// dx[r, q + j stride] = sum over the taps of row r and phase q of w dy[(r - kh) / stride, j - kw'].
template <class T>
void gradient_phase(const Plane& p, const GradientBand<T>& band, const T* rows, N first_row, N row,
                    N q, const T* w, T bias, N begin, N end, T* dst, N step) {
  constexpr int L = lanes<T>;
  for (N j = begin; j < end; j += L) {
    Vec<T> acc = broadcast<T>(bias);
    for (N kh = 0; kh < p.kernel_h; ++kh) {
      const N up = row - kh * p.dilation_h;
      if (up < 0 || up % p.stride_h != 0 || up / p.stride_h >= p.out_h) continue;
      const T* const line = rows + (up / p.stride_h - first_row) * band.row + band.margin + j;
      for (N kw = 0; kw < p.kernel_w; ++kw) {
        const N column = kw * p.dilation_w;
        if (column % p.stride_w != q) continue;
        acc += w[kh * p.kernel_w + kw] * load(line - column / p.stride_w);
      }
    }
    const N count = smaller(L, end - j);
    if (step == 1) {
      if (count == L) {
        store(dst + j, acc);
      } else {
        store_n(dst + j, acc, count);
      }
    } else {
      for (N i = 0; i < count; ++i) dst[(j + i) * step] = acc[i];
    }
  }
}

template <class T>
void input_gradient(const Plane& p, const T* dy, const T* w, T bias, T* dx, void* scratch) {
  const GradientBand<T> band(p);
  T* const rows = static_cast<T*>(scratch);
  const N reach_h = (p.kernel_h - 1) * p.dilation_h;
  for (N first = 0; first < p.in_h; first += band.inputs) {
    const N last = smaller(p.in_h, first + band.inputs);
    const N lowest = first + p.pad_h - reach_h;
    const N low = lowest <= 0 ? 0 : divide_up(lowest, p.stride_h);
    const N high = smaller(p.out_h, (last - 1 + p.pad_h) / p.stride_h + 1);
    for (N h = low; h < high; ++h) {
      T* const dst = rows + (h - low) * band.row;
      for (N i = 0; i < band.margin; ++i) dst[i] = 0;
      const T* const src = dy + h * p.out_w;
      __builtin_memcpy(dst + band.margin, src, static_cast<std::size_t>(p.out_w) * sizeof(T));
      for (N i = band.margin + p.out_w; i < band.row; ++i) dst[i] = 0;
    }
    for (N h = first; h < last; ++h) {
      for (N q = 0; q < p.stride_w; ++q) {
        const N begin = q >= p.pad_w ? 0 : divide_up(p.pad_w - q, p.stride_w);
        const N past = p.in_w + p.pad_w - q;
        const N end = past > 0 ? divide_up(past, p.stride_w) : 0;
        gradient_phase(p, band, rows, low, h + p.pad_h, q, w, bias, begin, end,
                       dx + h * p.in_w + q - p.pad_w, p.stride_w);
      }
    }
  }
}

// K taps of a row at once.
template <class T, int K>
ONDINE_INLINE void weight_taps(const Plane& p, N first, N last, const T* rows, const Band<T>& band,
                               const T* dy, N kh, N kw, T* dw) {
  constexpr int L = lanes<T>;
  Vec<T> acc[K] = {};
  N offset[K];
  for (int i = 0; i < K; ++i) {
    const N column = (kw + i) * p.dilation_w;
    offset[i] = column % p.stride_w * band.phase + column / p.stride_w;
  }
  for (N h = first; h < last; ++h) {
    const T* const line = rows + ((h - first) * p.stride_h + kh * p.dilation_h) * band.row;
    const T* const d = dy + h * p.out_w;
    for (N j = 0; j < p.out_w; j += L) {
      const Vec<T> v = j + L <= p.out_w ? load(d + j) : load_n(d + j, p.out_w - j);
#pragma GCC unroll 8
      for (int i = 0; i < K; ++i) acc[i] += v * load(line + offset[i] + j);
    }
  }
  for (int i = 0; i < K; ++i) dw[kh * p.kernel_w + kw + i] += lane_sum<T>(acc[i]);
}

template <class T>
void weight_gradient(const Plane& p, const T* x, const T* dy, T* dw, void* scratch) {
  for_bands(p, x, scratch, [&](N first, N last, const T* rows, const Band<T>& band) {
    for (N kh = 0; kh < p.kernel_h; ++kh) {
      N kw = 0;
      if (p.kernel_w == 5) {
        weight_taps<T, 5>(p, first, last, rows, band, dy, kh, 0, dw);
        kw = 5;
      }
      for (; kw + 3 <= p.kernel_w; kw += 3) {
        weight_taps<T, 3>(p, first, last, rows, band, dy, kh, kw, dw);
      }
      for (; kw < p.kernel_w; ++kw) {
        weight_taps<T, 1>(p, first, last, rows, band, dy, kh, kw, dw);
      }
    }
  });
}

template <class T>
constexpr PlaneKernels<T> kernels_of = {&scratch_bytes<T>, &forward<T>, &input_gradient<T>,
                                        &weight_gradient<T>};

}  // namespace

constinit const PlaneKernels<float> planes_f32 = kernels_of<float>;
constinit const PlaneKernels<double> planes_f64 = kernels_of<double>;

}  // namespace ondine::math::ONDINE_ISA
