// Softmax and its logarithm along an axis, and their derivatives, in float and double: the
// primitive of Softmax, LogSoftmax, SoftmaxGrad, LogSoftmaxGrad and, forward, of
// SoftmaxCrossEntropyLoss. Attention calls the kernels of single rows
// (kernels/simd/norm/softmax_table.h) on its own tiles.
//
// Implementations, in the order in which they are tried:
//   rows     inner == 1: one kernel call for each row
//   columns  any axis: blocks of columns side by side
#pragma once

#include <cstdint>

#include "kernels/common/primitive.h"
#include "kernels/simd/elements.h"

namespace ondine::math {

// x is [outer, length, inner]; sums run over `length`.
//   forward:  y = exp(x - max x) / sum exp(x - max x), or y = x - log sum exp x
//   backward: dx = y (dy - sum dy y), or dx = dy - exp(y) sum dy
struct SoftmaxDesc {
  std::int64_t outer = 1;
  std::int64_t length = 1;
  std::int64_t inner = 1;
  bool logarithm = false;
  bool backward = false;
  Storage y_stored = Storage::plain;  // backward; bfloat16: see takes_bf16
};

template <class T>
struct SoftmaxArgs {
  const T* x = nullptr;      // forward
  const T* dy = nullptr;     // backward
  Elements<const T> y = {};  // backward
  T* result = nullptr;       // y, which may be x; dx, which may be dy
};

template <class T>
class SoftmaxPrimitive : public Primitive<SoftmaxDesc, SoftmaxArgs<T>> {
 public:
  // Whether y of the derivative may be bfloat16.
  static bool takes_bf16(const SoftmaxDesc& desc);

  explicit SoftmaxPrimitive(const SoftmaxDesc& desc,
                            const SimdTables& kernels = math::simd_tables());
  SoftmaxPrimitive(const SoftmaxDesc& desc, std::string_view name, const SimdTables& kernels);
};

}  // namespace ondine::math
