// The tables for convolutions and normalization that the files of this folder fill.
#pragma once

#include "kernels/simd/conv/conv_table.h"

namespace ondine::math::ONDINE_ISA {

extern const DepthwiseChannelKernels<float> depthwise_channels_f32;
extern const DepthwiseChannelKernels<double> depthwise_channels_f64;
extern const WinogradKernels<float> winograd_f32;
extern const StridedConvKernels<float> strided_conv_f32;
extern const BatchNormKernels<float> batch_norm_f32;
extern const BatchNormKernels<double> batch_norm_f64;
extern const DirectKernels<float> direct_f32;
extern const DirectKernels<double> direct_f64;

}  // namespace ondine::math::ONDINE_ISA
