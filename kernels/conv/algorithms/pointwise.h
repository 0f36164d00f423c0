// The gradient by the weights of pointwise convolutions.
#pragma once

#include "kernels/conv/algorithms/algorithm.h"

namespace ondine::math {

// backward_weights, also of groups.
template <class T>
MadeConv<T> make_pointwise_weights(const ConvDesc& desc, const Kernels& kernels);

}  // namespace ondine::math
