// Batch normalization of one row of a channel. The elements of x are X: T, or bfloat16 by their
// bits.
#pragma once

#include <cstdint>

#include "kernels/simd/tables.h"

namespace ondine::math {

// Statistics of a channel, row after row; each row is read once from memory.
struct Moments {
  double count = 0;
  double mean = 0;
  double squares = 0;  // of the deviations from the mean
};

// v = (x - mean) a + bias, the normalized x, and the bounds of what counts.
template <class T>
struct NormRow {
  T mean, a, bias, low, high;
};

template <class T, class X>
struct BatchNormKernels {
  // Joins n more elements.
  void (*moments)(const X* x, std::int64_t n, Moments* moments);
  // Adds sum dy and sum dy (x - mean).
  void (*sums)(const T* dy, const X* x, T mean, std::int64_t n, double* total, double* product);
  // y = min(max(v + addend, low), high); the addend may be null. NaN stays.
  void (*normalize)(const NormRow<T>& row, T* y, const X* x, const T* addend, std::int64_t n);
  // y = f(v) and slope = f'(v); both may be null. Of v / (1 + e^(-alpha v)), and of
  // v min(1, max(0, v / 6 + 1 / 2)).
  void (*swish)(const NormRow<T>& row, T alpha, T* y, T* slope, const X* x, std::int64_t n);
  void (*hard_swish)(const NormRow<T>& row, T* y, T* slope, const X* x, std::int64_t n);
  // `sums`, a dy + by_x (x - mean) + shift, and a dy, with dy counting as 0 where v is not in [low,
  // high].
  void (*masked_sums)(const NormRow<T>& row, const T* dy, const X* x, std::int64_t n, double* total,
                      double* product);
  void (*masked_gradient)(const NormRow<T>& row, T* dx, const T* dy, const X* x, T by_x, T shift,
                          std::int64_t n);
  void (*masked_scale)(const NormRow<T>& row, T* dx, const T* dy, const X* x, std::int64_t n);
};

}  // namespace ondine::math
