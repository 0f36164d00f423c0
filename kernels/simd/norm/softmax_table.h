// Softmax of one row. Results may be their operands.
#pragma once

#include <cstdint>

namespace ondine::math {

template <class T>
struct SoftmaxKernels {
  void (*softmax)(T* y, const T* x, std::int64_t n);
  void (*log_softmax)(T* y, const T* x, std::int64_t n);
  void (*softmax_gradient)(T* dx, const T* dy, const T* y, std::int64_t n);
  void (*log_softmax_gradient)(T* dx, const T* dy, const T* y, std::int64_t n);
};

}  // namespace ondine::math
