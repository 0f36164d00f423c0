// Activation that a product or convolution applies to its results before they are stored.
#pragma once

#include "kernels/simd/matmul/gemm_table.h"
#include "kernels/simd/vector/functions.h"

namespace ondine::math::ONDINE_ISA {

// NaN stays NaN.
template <class T>
ONDINE_INLINE Vec<T> activate(const Vec<T>& v, Activation activation) {
  if (activation == Activation::none) return v;
  const Vec<T> raised = at_least(v, T{0});
  return activation == Activation::relu6 ? at_most(raised, T{6}) : raised;
}

template <class T>
ONDINE_INLINE T activate_one(T v, Activation activation) {
  if (activation == Activation::none) return v;
  const T raised = v < 0 ? T{0} : v;
  return activation == Activation::relu6 && raised > 6 ? T{6} : raised;
}

}  // namespace ondine::math::ONDINE_ISA
