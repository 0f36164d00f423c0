// Operands of normalizations that are stored in bfloat16.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/common/stored_elements.h"
#include "kernels/simd/tables.h"
#include "kernels/simd/vector/convert_table.h"

namespace ondine::math {

// Copies a row in bfloat16.
class Bf16Copy {
 public:
  explicit Bf16Copy(const SimdTables& kernels) : convert_(kernels.convert) {}
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
NormKernels<T, X> norm_kernels(const SimdTables& kernels) {
  if constexpr (sizeof(X) < sizeof(float)) {
    const Bf16NormKernels& set = kernels.norm_bf16;
    return {set.layer_norm, set.batch_norm, set.depthwise_norm};
  } else {
    const SimdTablesOf<T>& set = tables_of<T>(kernels);
    return {set.layer_norm, set.batch_norm, set.depthwise_norm};
  }
}

}  // namespace ondine::math
