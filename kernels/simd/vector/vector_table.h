// Functions on rows of contiguous elements, as pointers: an operator takes one when it is bound.
// A row's elements do not depend on how a longer row was cut, but for the reductions, whose order
// of summation is a function of n alone. dst may be one of the sources, else must not overlap them.
#pragma once

#include <cstdint>

namespace ondine::math {

template <class T>
struct VectorKernels {
  using Unary = void (*)(T* dst, const T* src, std::int64_t n);
  using Reduction = T (*)(const T* src, std::int64_t n);
  // dx from dy and what the name says.
  using Gradient = void (*)(T* dx, const T* dy, const T* y, std::int64_t n);
  using GradientAndValue = void (*)(T* dx, T* y, const T* dy, const T* x, std::int64_t n);
  struct Binary {
    void (*vv)(T* dst, const T* a, const T* b, std::int64_t n);
    void (*vs)(T* dst, const T* a, T b, std::int64_t n);
    void (*sv)(T* dst, T a, const T* b, std::int64_t n);
  };

  // Right for infinities, NaN and subnormal numbers; about 2 ulp in float, libm's in double.
  Unary exp, log, tanh, sigmoid, erf, softplus, sin, cos;
  Unary gelu;        // x (1 + erf(x / sqrt 2)) / 2
  Unary gelu_tanh;   // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
  Unary hard_swish;  // x (x / 6 + 1 / 2) between -3, from where it is 0, and 3, from where it is x
  Unary sqrt, reciprocal, neg, abs, square, relu;

  // max and min give NaN when an element is NaN.
  Binary add, sub, mul, div, max, min;

  void (*fill)(T* dst, T value, std::int64_t n);
  void (*copy)(T* dst, const T* src, std::int64_t n);
  void (*scale)(T* dst, const T* src, T a, std::int64_t n);                // a src
  void (*axpy)(T* dst, T a, const T* x, std::int64_t n);                   // dst + a x
  void (*axpby)(T* dst, T a, const T* x, T b, std::int64_t n);             // b dst + a x
  void (*multiply_add)(T* dst, const T* a, const T* b, std::int64_t n);    // dst + a b
  void (*affine)(T* dst, const T* src, T mean, T a, T b, std::int64_t n);  // (src - mean) a + b

  Gradient relu_gradient;        // dy where y > 0, else 0 (y: input or output)
  Gradient sigmoid_gradient;     // dy y (1 - y), y: output
  Gradient tanh_gradient;        // dy (1 - y^2), y: output
  Gradient gelu_gradient;        // y: input
  Gradient gelu_tanh_gradient;   // y: input
  Gradient hard_swish_gradient;  // y: input
  // The gradient, and y from x again. Results may overwrite what is read.
  GradientAndValue gelu_gradient_and_value, gelu_tanh_gradient_and_value;

  // y = x sigmoid(a x), and dx from dy and x.
  void (*swish)(T* y, const T* x, T a, std::int64_t n);
  void (*swish_gradient)(T* dx, const T* dy, const T* x, T a, std::int64_t n);

  // The error grows with the logarithm of n. Of no elements: 0; max_of: -inf; min_of: +inf.
  Reduction sum, sum_squares, sum_abs, max_of, min_of;
  T (*dot)(const T* a, const T* b, std::int64_t n);
  // Sum of (src - mean)^2.
  T (*sum_squared_deviation)(const T* src, T mean, std::int64_t n);
  // dst[j] = sum over i < rows of src[i ld + j], j < cols; pairwise over rows.
  void (*column_sums)(T* dst, const T* src, std::int64_t rows, std::int64_t cols, std::int64_t ld);
  // dst[j] + src[j] + src[ld + j] + ..., j < cols: in the order of rows.
  void (*add_rows)(T* dst, const T* src, std::int64_t rows, std::int64_t cols, std::int64_t ld);
};

}  // namespace ondine::math
