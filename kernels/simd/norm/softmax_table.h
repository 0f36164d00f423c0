// Softmax of one row. Results may be their operands.
#pragma once

#include <cstdint>

namespace ondine::math {

template <class T>
struct SoftmaxKernels {
  void (*softmax)(T* y, const T* x, std::int64_t n);
  // softmax for scores of attention: in float, 0 where it would be e^-69 times the largest or less.
  void (*weights)(T* y, const T* x, std::int64_t n);
  void (*log_softmax)(T* y, const T* x, std::int64_t n);
  // 0 where all of dy is 0, even if y is NaN, as that of scores of minus infinity alone is.
  void (*softmax_gradient)(T* dx, const T* dy, const T* y, std::int64_t n);
  void (*log_softmax_gradient)(T* dx, const T* dy, const T* y, std::int64_t n);
  // softmax_gradient for a y in bfloat16, by its bits. Null in double.
  void (*softmax_gradient_bf16)(T* dx, const T* dy, const std::uint16_t* y,
                                std::int64_t n) = nullptr;
};

}  // namespace ondine::math
