// What each instruction set provides.
#pragma once

#include <type_traits>

#include "kernels/conv/conv_primitive.h"
#include "kernels/elementwise/vector.h"
#include "kernels/norm/norm_primitive.h"
#include "kernels/optimizer/optimizer_primitive.h"
#include "kernels/recurrent/lstm_cell.h"

namespace ondine::math {

// One product on one thread. Element (i, p) of A is a[i a_row + p a_col], of B (p, j)
// b[p b_row + j b_col]; of the two strides of a matrix one is 1.
template <class T>
struct GemmCall {
  std::int64_t m, n, k;
  const T* a;
  std::int64_t a_row, a_col;
  const T* b;
  std::int64_t b_row, b_col;
  // B is packed already: panels of `nr` columns, each k x nr, the last filled up with zeros.
  bool b_packed;
  T* c;
  std::int64_t ldc;
  T alpha, beta;
  const T* col_bias;
  const T* row_bias;
  Activation activation;
  const T* addend = nullptr;  // what beta multiplies; C when null
};

template <class T>
struct GemmKernels {
  std::int64_t nr;  // width of a panel of B
  // What `run` needs; grows with m, n and k. Only shapes and strides of the call are read.
  std::int64_t (*scratch_bytes)(const GemmCall<T>& call);
  void (*run)(const GemmCall<T>& call, void* scratch);
  // All of B (n, k and its strides are read) in panels, as b_packed wants them; writes up to a
  // vector behind them.
  void (*pack_b)(const GemmCall<T>& call, T* panels);
};

// Rows of longer operations.
template <class T>
struct RowKernels {
  void (*softmax)(T* y, const T* x, std::int64_t n);
  void (*log_softmax)(T* y, const T* x, std::int64_t n);
  void (*softmax_gradient)(T* dx, const T* dy, const T* y, std::int64_t n);
  void (*log_softmax_gradient)(T* dx, const T* dy, const T* y, std::int64_t n);

  // y = (x - mean) a scale + bias; scale and bias may be null.
  void (*normalize)(T* y, const T* x, T mean, T a, const T* scale, const T* bias, std::int64_t n);
  // sum dy and sum dy (x - mean)
  void (*norm_sums)(const T* dy, const T* x, T mean, std::int64_t n, T* sum, T* product);
  // dx = a dy + b (x - mean) + c
  void (*norm_gradient)(T* dx, const T* dy, const T* x, T mean, T a, T b, T c, std::int64_t n);
  // The same sums with dy scale in place of dy, and dx = a (dy scale) + b (x - mean) + c.
  void (*scaled_norm_sums)(const T* dy, const T* scale, const T* x, T mean, std::int64_t n, T* sum,
                           T* product);
  void (*scaled_norm_gradient)(T* dx, const T* dy, const T* scale, const T* x, T mean, T a, T b,
                               T c, std::int64_t n);

  // dst[j] = sum over i of dy[i, j] (x[i, j] - mean[i]) a[i]
  void (*normal_column_sums)(T* dst, const T* dy, const T* x, const T* mean, const T* a,
                             std::int64_t rows, std::int64_t cols, std::int64_t ld);

  void (*sgd)(const Sgd<T>& o, std::int64_t n, const T* x, const T* g, T* x_new);
  void (*thin_sgd_update)(const ThinSgdUpdate<T>& o, const T* w, const T* a, const T* b, T* w_new);
  void (*momentum)(const Momentum<T>& o, std::int64_t n, const T* x, const T* g, const T* v,
                   T* x_new, T* v_new);
  void (*adagrad)(const Adagrad<T>& o, std::int64_t n, const T* x, const T* g, const T* h, T* x_new,
                  T* h_new);
  void (*adam)(const Adam<T>& o, std::int64_t n, const T* x, const T* g, const T* v, const T* h,
               T* x_new, T* v_new, T* h_new);
};

// A block of the matrix whose product with the weights is a convolution: row (c, kd, kh, kw), one
// column for each output position. Columns lie in panels of `width`, each rows x width; a plain
// matrix is one panel.
struct ColumnBlock {
  Extents in, kernel, out, stride, dilation, pad;
  std::int64_t channels;     // of the block
  std::int64_t first, last;  // output positions
  std::int64_t width;
};

template <class T>
struct Im2colKernels {
  // x: the first channel of the block. The last panel is filled up with zeros.
  void (*gather)(const ColumnBlock& block, const T* x, T* columns);
  // x += what gather would have read from there.
  void (*scatter)(const ColumnBlock& block, const T* columns, T* x);
};

// One plane and its window.
struct Plane {
  std::int64_t in_h, in_w, kernel_h, kernel_w, out_h, out_w;
  std::int64_t stride_h, stride_w, dilation_h, dilation_w, pad_h, pad_w;
};

// A convolution of one plane by one kernel.
template <class T>
struct DepthwiseRowKernels {
  std::int64_t (*scratch_bytes)(const Plane& plane);  // of any of the three
  void (*forward)(const Plane& plane, const T* x, const T* w, T bias, Activation activation, T* y,
                  void* scratch);
  // Overwrites dx.
  void (*input_gradient)(const Plane& plane, const T* dy, const T* w, T bias, T* dx, void* scratch);
  // dw += ...
  void (*weight_gradient)(const Plane& plane, const T* x, const T* dy, T* dw, void* scratch);
};

// One row of pooling windows over one row of x: at most pool_outputs of them. Results are arrays
// with room for pool_slack elements more.
struct PoolRow {
  std::int64_t in_w, out_w, kernel, stride, dilation, pad;
};
inline constexpr std::int64_t pool_outputs = 256;
inline constexpr std::int64_t pool_slack = 16;
inline constexpr std::int64_t pool_span = 1024;
template <class T>
using PoolCode = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

template <class T>
struct PoolKernels {
  // best[j] = max(best[j], taps of output j); code, unless null, where that is: `position` + column
  // - j stride.
  void (*max_line)(const PoolRow& row, const T* line, std::int64_t position, T* best,
                   PoolCode<T>* code);
  void (*sum_line)(const PoolRow& row, const T* line, T* sums);   // sums += taps
  void (*spread_line)(const PoolRow& row, const T* dy, T* line);  // taps += dy
  // Whole windows of stride 1 or 2 and a span of at most pool_span columns, their lines lying
  // `step` apart: the maxima (of zeros of both signs any) and the sums.
  void (*max_window)(const PoolRow& row, const T* first, std::int64_t step, std::int64_t lines,
                     T* y);
  void (*sum_window)(const PoolRow& row, const T* first, std::int64_t step, std::int64_t lines,
                     T* y);
  // Windows of 2 x 2 with stride 2, upper and lower being their rows: y and, unless null, where the
  // maximum is, `upper` being at `position` and `lower` `width` later.
  void (*max_squares)(const T* upper, const T* lower, std::int64_t n, std::int64_t position,
                      std::int64_t width, T* y, std::int64_t* index);
};

// conv_table.h
template <class T>
struct DepthwiseChannelKernels;
template <class T>
struct WinogradKernels;
template <class T>
struct BatchNormKernels;
template <class T>
struct DirectKernels;
template <class T>
struct StridedConvKernels;

template <class T>
struct KernelSet {
  const VectorKernels<T>* vector;
  const GemmKernels<T>* gemm;
  const RowKernels<T>* rows;
  const Im2colKernels<T>* columns;
  const DepthwiseRowKernels<T>* planes;
  const PoolKernels<T>* pools;
  const DepthwiseChannelKernels<T>* lanes;
  const WinogradKernels<T>* winograd;  // null in double
  const BatchNormKernels<T>* channels;
  const DirectKernels<T>* direct;
  const StridedConvKernels<T>* window;  // null in double
  const CellKernels<T>* cells;
};

struct Kernels {
  Isa isa;
  const char* name;
  KernelSet<float> f32;
  KernelSet<double> f64;
};

template <class T>
const KernelSet<T>& kernel_set(const Kernels& kernels) noexcept {
  if constexpr (sizeof(T) == sizeof(float)) {
    return kernels.f32;
  } else {
    return kernels.f64;
  }
}

namespace baseline {
extern const Kernels table;
}
namespace avx2 {
extern const Kernels table;
}
namespace avx512 {
extern const Kernels table;
}

}  // namespace ondine::math
