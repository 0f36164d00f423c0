// The implementations of convolution, as conv_primitive.h lists them: supports_NAME and make_NAME
// of the file NAME.cpp.
#pragma once

#include <memory>

#include "kernels/conv/primitives/conv_primitive.h"

namespace ondine::math {

template <class T>
using MadeConv = std::unique_ptr<const ConvImplementation<T>>;

#define ONDINE_CONV_ALGORITHM(name)                                      \
  template <class T>                                                     \
  bool supports_##name(const ConvDesc& desc, const SimdTables& kernels); \
  template <class T>                                                     \
  MadeConv<T> make_##name(const ConvDesc& desc, const SimdTables& kernels)

ONDINE_CONV_ALGORITHM(bias_only);
ONDINE_CONV_ALGORITHM(grouped);
ONDINE_CONV_ALGORITHM(direct);
ONDINE_CONV_ALGORITHM(winograd_panels);
ONDINE_CONV_ALGORITHM(winograd);
ONDINE_CONV_ALGORITHM(few_positions);
ONDINE_CONV_ALGORITHM(strided);
ONDINE_CONV_ALGORITHM(depthwise_strips);
ONDINE_CONV_ALGORITHM(depthwise_channels);
ONDINE_CONV_ALGORITHM(depthwise_3x3);
ONDINE_CONV_ALGORITHM(depthwise_rows);
ONDINE_CONV_ALGORITHM(pointwise);
ONDINE_CONV_ALGORITHM(joined_columns);
ONDINE_CONV_ALGORITHM(im2col);
#undef ONDINE_CONV_ALGORITHM

// Algorithms whose products round their factors. They support kernels of lower precision, and only
// convolutions for which rounding and packing cost less than they save.
#define ONDINE_LOWER_ALGORITHM(name) \
  template <class T>                 \
  bool supports_##name##_bf16(const ConvDesc& desc, const SimdTables& kernels)
ONDINE_LOWER_ALGORITHM(shifted);
ONDINE_LOWER_ALGORITHM(grouped);
ONDINE_LOWER_ALGORITHM(winograd_panels);
ONDINE_LOWER_ALGORITHM(winograd);
ONDINE_LOWER_ALGORITHM(pointwise);
ONDINE_LOWER_ALGORITHM(strided);
ONDINE_LOWER_ALGORITHM(joined_columns);
ONDINE_LOWER_ALGORITHM(im2col);
#undef ONDINE_LOWER_ALGORITHM

template <class T>
MadeConv<T> make_shifted(const ConvDesc& desc, const SimdTables& kernels);

// Whether none of them is tried.
template <class T>
bool keeps_float32(const ConvDesc& desc, const SimdTables& kernels);

// At the end of NAME.cpp.
#define ONDINE_INSTANTIATE_CONV(name)                                              \
  template bool supports_##name<float>(const ConvDesc&, const SimdTables&);        \
  template bool supports_##name<double>(const ConvDesc&, const SimdTables&);       \
  template MadeConv<float> make_##name<float>(const ConvDesc&, const SimdTables&); \
  template MadeConv<double> make_##name<double>(const ConvDesc&, const SimdTables&)

}  // namespace ondine::math
