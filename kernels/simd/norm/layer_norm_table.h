// Layer normalization of one row. The elements of x are X: T, or bfloat16 by their bits.
#pragma once

#include <cstdint>

#include "kernels/simd/tables.h"

namespace ondine::math {

template <class T, class X>
struct LayerNormKernels {
  T (*sum)(const X* x, std::int64_t n);
  T (*sum_squared_deviation)(const X* x, T mean, std::int64_t n);
  // y = (x - mean) a scale + bias; scale and bias may be null.
  void (*normalize)(T* y, const X* x, T mean, T a, const T* scale, const T* bias, std::int64_t n);
  // sum dy and sum dy (x - mean)
  void (*norm_sums)(const T* dy, const X* x, T mean, std::int64_t n, T* sum, T* product);
  // dx = a dy + b (x - mean) + c
  void (*norm_gradient)(T* dx, const T* dy, const X* x, T mean, T a, T b, T c, std::int64_t n);
  // norm_sums with dy scale in place of dy, and dx = a (dy scale) + b (x - mean) + c.
  void (*scaled_norm_sums)(const T* dy, const T* scale, const X* x, T mean, std::int64_t n, T* sum,
                           T* product);
  void (*scaled_norm_gradient)(T* dx, const T* dy, const T* scale, const X* x, T mean, T a, T b,
                               T c, std::int64_t n);

  // dst[j] = sum over i of dy[i, j] (x[i, j] - mean[i]) a[i]
  void (*normal_column_sums)(T* dst, const T* dy, const X* x, const T* mean, const T* a,
                             std::int64_t rows, std::int64_t cols, std::int64_t ld);
};

}  // namespace ondine::math
