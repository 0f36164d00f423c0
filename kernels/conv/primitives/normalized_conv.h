// A convolution of planes that are normalized by the statistics of the batch, in float and double:
// the primitive of NormalizedConv. The normalized planes of the batch are not stored.
//
// Implementations, in the order in which they are tried:
//   depthwise  one channel of x and y for each group, over planes, or no elements; statistics of x
//              that are not given: the planes of some channels of all images are read once from
//              memory for their statistics and once from a cache. The normalized planes of an image
//              lie in scratch memory until they are convolved. It alone copies x, reads x in
//              bfloat16 and finds the statistics of y.
//   pointwise  windows of one element over large planes: some positions of all channels are
//              normalized in a second cache, where a product reads them
//   images     anything: any implementation of a convolution, some normalized images at a time
#pragma once

#include "kernels/common/primitive.h"
#include "kernels/conv/conv_desc.h"
#include "kernels/conv/sources/normalized_source.h"
#include "kernels/norm/batch_norm_primitive.h"

namespace ondine::math {

struct NormalizedConvDesc {
  ConvShape shape = {};
  BatchNormDesc norm = {};  // of x, but for its `pass`, which is training; without `masked`
  bool given = false;       // the statistics of x
  int threads = 1;          // of the pool: no result depends on it
};

template <class T>
class NormalizedConv : public Primitive<NormalizedConvDesc, NormalizedConvArgs<T>> {
 public:
  explicit NormalizedConv(const NormalizedConvDesc& desc,
                          const SimdTables& kernels = simd_tables());
  NormalizedConv(const NormalizedConvDesc& desc, std::string_view name, const SimdTables& kernels);
};

template <class T>
using NormalizedConvEntry =
    ImplementationEntry<NormalizedConvDesc, Implementation<NormalizedConvArgs<T>>>;
template <class T>
NormalizedConvEntry<T> normalized_depthwise_conv();
template <class T>
NormalizedConvEntry<T> normalized_pointwise_conv();
template <class T>
NormalizedConvEntry<T> normalized_images_conv();

}  // namespace ondine::math
