// Normalization of channels by the statistics of a batch, with its derivative, in float and double:
// the primitive of BatchNormalization, BatchNormalizationActivation and their derivatives.
//
// Implementations, in the order in which they are tried:
//   columns         training, one element of each channel a sample: statistics in two passes
//   masked_planes   backward through bounds: which side an element was on is computed again
//   planes          anything: rows of `spatial` elements, statistics joined row by row
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/common/primitive.h"
#include "kernels/simd/activation.h"
#include "kernels/simd/elements.h"

namespace ondine::math {

// x is [batch, channels, spatial].
struct ChannelShape {
  std::int64_t batch = 1;
  std::int64_t channels = 1;
  std::int64_t spatial = 1;
};

enum class BatchNormPass : std::uint8_t {
  inference,                     // by statistics that are given
  training,                      // by those of the batch, which are results too
  backward,                      // of training
  backward_constant_statistics,  // of inference
};

// Forward, with v = (x - mean[c]) / sqrt(variance[c] + epsilon) scale[c] + bias[c]:
//   y = min(max(v + addend, low), high), NaN staying NaN.
// Backward, with s = sum dy and p = sum dy xhat of each channel, where dy counts as 0 unless
// low <= v <= high: dbias = s, dscale = p and
//   dx = scale / sqrt(variance + epsilon) (dy - s / count - xhat p / count),
// or, when the statistics are constants, scale / sqrt(variance + epsilon) dy.
struct BatchNormDesc {
  ChannelShape shape;
  BatchNormPass pass = BatchNormPass::inference;
  double epsilon = 1e-5;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  Activation activation = Activation::bounds;  // or a swish
  double alpha = 1;
  bool masked = false;  // backward: the activation counts; needs the bias
  Storage x_stored = Storage::plain;
};

// Optional operands and results are null where they are left out.
template <class T>
struct BatchNormArgs {
  Elements<const T> x = {};
  const T* scale = nullptr;
  const T* bias = nullptr;          // forward and masked
  const T* mean = nullptr;          // all but training
  const T* variance = nullptr;      // all but training; divided by the count
  const T* addend = nullptr;        // forward, optional; of x's shape
  const T* dy = nullptr;            // backward
  T* y = nullptr;                   // forward; may be x or the addend
  std::uint16_t* bf16_x = nullptr;  // forward, optional: x as bfloat16; not of double
  T* batch_mean = nullptr;          // training; as exact as in two passes, NaN of no elements
  T* batch_variance = nullptr;      // training
  T* dx = nullptr;                  // backward, optional; may be dy or x
  T* dscale = nullptr;              // backward, optional
  T* dbias = nullptr;               // backward, optional
};

template <class T>
class BatchNormPrimitive : public Primitive<BatchNormDesc, BatchNormArgs<T>> {
 public:
  explicit BatchNormPrimitive(const BatchNormDesc& desc,
                              const SimdTables& kernels = math::simd_tables());
  BatchNormPrimitive(const BatchNormDesc& desc, std::string_view name, const SimdTables& kernels);
};

}  // namespace ondine::math
