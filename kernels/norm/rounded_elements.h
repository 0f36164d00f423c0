// Operands of normalizations that are held in bfloat16, given as if they were of another type.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/simd/tables.h"
#include "kernels/simd/vector/convert_table.h"

namespace ondine::math {

// X: the type of the elements of x, T, or bfloat16 by its bits.
template <class X, class T>
const X* elements_of(const T* x) {
  return reinterpret_cast<const X*>(x);
}

// body.template operator()<X>() with the type of the elements of an x that is `rounded` or not.
template <class T, class Body>
decltype(auto) visit_elements(bool rounded, Body&& body) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (rounded) return body.template operator()<std::uint16_t>();
  }
  return body.template operator()<T>();
}

template <class T>
T widened(T x) {
  return x;
}
inline float widened(std::uint16_t x) { return std::bit_cast<float>(std::uint32_t{x} << 16); }

// Copies a row in bfloat16.
class RoundedCopy {
 public:
  explicit RoundedCopy(const Kernels& kernels) : convert_(kernels.convert) {}
  void operator()(std::uint16_t* to, const float* x, std::int64_t n) const {
    convert_->float_to_bfloat16(to, x, n);
  }
  void operator()(std::uint16_t* to, const std::uint16_t* x, std::int64_t n) const {
    std::copy_n(x, n, to);
  }
  void operator()(std::uint16_t*, const double*, std::int64_t) const {}

 private:
  const ConvertKernels* convert_;
};

// The rows of normalizations of x in X.
template <class T, class X>
struct NormKernels {
  const LayerNormKernels<T, X>* layer_norm;
  const BatchNormKernels<T, X>* batch_norm;
  const DepthwiseNormKernels<T, X>* depthwise_norm;
};
template <class T, class X>
NormKernels<T, X> norm_kernels(const Kernels& kernels) {
  if constexpr (sizeof(X) < sizeof(float)) {
    const RoundedNormKernels& set = kernels.rounded_norm;
    return {set.layer_norm, set.batch_norm, set.depthwise_norm};
  } else {
    const KernelSet<T>& set = kernel_set<T>(kernels);
    return {set.layer_norm, set.batch_norm, set.depthwise_norm};
  }
}

}  // namespace ondine::math
