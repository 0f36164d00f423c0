// The part of im2col that pointwise convolutions use.
#pragma once

#include "kernels/conv/algorithms/algorithm.h"

namespace ondine::math {

// backward_weights of a pointwise convolution, whose columns are x itself.
template <class T>
MadeConv<T> make_pointwise_weights(const ConvDesc& desc, const Kernels& kernels);

}  // namespace ondine::math
