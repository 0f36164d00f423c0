// Gradients of a convolution that share what they read, in float and double: the primitive of
// ConvGrads.
//
// Implementations, in the order in which they are tried:
//   pointwise             dw and dx of windows of one element: dy is read from memory once. The
//                         product for dw leaves some positions of it in a second cache, from where
//                         the product for dx reads them
//   rows_3x3              all of a normalization, depthwise, 3 x 3 taps over rows of some vectors,
//                         bounds: planes are normalized in registers
//   planes                all of a normalization, any other depthwise: the kernels of depthwise
//                         convolutions, on normalized planes of an image in scratch memory
//   normalized_pointwise  dw alone, of windows of one element over large planes: some positions of
//                         some channels are normalized in a second cache, where a product reads
//                         them
//   normalized_images     dw alone: any implementation of a convolution, some normalized images at
//                         a time
// Depthwise ones read the planes of some channels of all images once from memory and once from a
// cache. None stores normalized planes.
#pragma once

#include "kernels/common/primitive.h"
#include "kernels/common/workspace.h"
#include "kernels/conv/conv_desc.h"
#include "kernels/conv/sources/normalized_source.h"
#include "kernels/norm/batch_norm_primitive.h"

namespace ondine::math {

// The convolution is y = Conv(z, w). With a normalization,
// v = (x - mean[c]) / sqrt(variance[c] + epsilon) scale[c] + bias[c] by the statistics of the batch
// and z = activation(v); otherwise z = x.
struct ConvGradsDesc {
  ConvShape shape = {};
  bool normalized = false;
  bool all = false;         // dx too, and dscale and dbias of a normalization
  BatchNormDesc norm = {};  // of z: epsilon, the activation and how x is stored
  double low = 0;           // with bounds, dv counts as 0 where v is lower
  int threads = 1;          // of the pool: the size of the workspace depends on it, no result does
};

// Results are null where they are left out.
template <class T>
struct ConvGradsArgs {
  const T* dy = nullptr;
  Elements<const T> x = {};
  const T* w = nullptr;      // for dx
  const T* scale = nullptr;  // of each channel, of a normalization, as all that follows
  const T* bias = nullptr;
  const T* mean = nullptr;
  const T* variance = nullptr;
  T* dw = nullptr;
  T* dx = nullptr;  // not x
  T* dscale = nullptr;
  T* dbias = nullptr;
  Workspace workspace = {};

  NormalizedOperand<T> z() const { return {x.plain(), scale, bias, mean, variance}; }
};

// Error(unsupported) of dx without a normalization unless the convolution is pointwise, of dx
// through one unless each group has one channel of x and of y, over planes with elements, and of dw
// alone without one.
template <class T>
class ConvGrads : public Primitive<ConvGradsDesc, ConvGradsArgs<T>> {
 public:
  explicit ConvGrads(const ConvGradsDesc& desc, const SimdTables& kernels = simd_tables());
  ConvGrads(const ConvGradsDesc& desc, std::string_view name, const SimdTables& kernels);
};

template <class T>
using ConvGradsEntry = ImplementationEntry<ConvGradsDesc, Implementation<ConvGradsArgs<T>>>;
template <class T>
ConvGradsEntry<T> pointwise_grads();
template <class T>
ConvGradsEntry<T> rows_3x3_grads();
template <class T>
ConvGradsEntry<T> planes_grads();
template <class T>
ConvGradsEntry<T> normalized_pointwise_grads();
template <class T>
ConvGradsEntry<T> normalized_images_grads();

}  // namespace ondine::math
