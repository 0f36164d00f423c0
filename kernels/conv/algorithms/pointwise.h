// Pointwise convolutions that are not products of planes as they lie.
#pragma once

#include "kernels/conv/algorithms/algorithm.h"

namespace ondine::math {

// backward_weights, also of groups.
template <class T>
MadeConv<T> make_pointwise_weights(const ConvDesc& desc, const SimdTables& kernels);

// The other directions, for several images of few positions and products that round their factors.
template <class T>
bool joins_rounded_images(const ConvDesc& desc, const SimdTables& kernels);
template <class T>
MadeConv<T> make_joined_pointwise(const ConvDesc& desc, const SimdTables& kernels);

}  // namespace ondine::math
