// Normalization of rows, with its derivative, in float and double: the primitive of
// LayerNormalization, RMSNormalization, Normalize and LayerNormalizationGrad, and with them of
// InstanceNormalization and GroupNormalization, which expand into Normalize. (LpNormalization,
// MeanVarianceNormalization and LRN expand into reductions and element-wise operators.)
//
// Implementations, in the order in which they are tried:
//   scaled_rows  backward with a scale: dy scale is formed on the fly
//   rows         anything
#pragma once

#include <cstdint>

#include "kernels/common/primitive.h"
#include "kernels/simd/elements.h"

namespace ondine::math {

// Rows of `length`: y = (x - mean) inv_std scale + bias, inv_std = 1 / sqrt(variance + epsilon).
struct LayerNormDesc {
  std::int64_t rows = 1;
  std::int64_t length = 1;
  double epsilon = 1e-5;  // forward
  bool backward = false;
  bool scaled = false;  // backward: there is a scale
  bool centred = true;  // otherwise the mean is taken for 0
  Storage x_stored = Storage::plain;
};

// Optional operands and results are null where they are left out.
template <class T>
struct LayerNormArgs {
  Elements<const T> x = {};
  const T* scale = nullptr;         // a row; forward: optional
  const T* bias = nullptr;          // a row; forward, optional
  const T* dy = nullptr;            // backward
  const T* mean = nullptr;          // backward; one value for each row
  const T* inv_std = nullptr;       // backward
  Elements<T> y = {};               // forward, optional
  std::uint16_t* bf16_x = nullptr;  // forward, optional: x as bfloat16; not of double
  T* saved_mean = nullptr;          // forward, optional
  T* saved_inv_std = nullptr;       // forward, optional
  T* dx = nullptr;      // backward, optional; may be dy only if dscale and dbias are null
  T* dscale = nullptr;  // backward, optional
  T* dbias = nullptr;   // backward, optional
};

template <class T>
class LayerNormPrimitive : public Primitive<LayerNormDesc, LayerNormArgs<T>> {
 public:
  explicit LayerNormPrimitive(const LayerNormDesc& desc,
                              const SimdTables& kernels = math::simd_tables());
  LayerNormPrimitive(const LayerNormDesc& desc, std::string_view name, const SimdTables& kernels);
};

}  // namespace ondine::math
