// The tables for convolutions and normalization that the files of this folder fill.
#pragma once

#include "kernels/math/conv_table.h"

namespace ondine::math::ONDINE_ISA {

extern const LaneKernels<float> lanes_f32;
extern const LaneKernels<double> lanes_f64;
extern const WinogradKernels<float> winograd_f32;
extern const WindowKernels<float> window_f32;
extern const ChannelKernels<float> channels_f32;
extern const ChannelKernels<double> channels_f64;
extern const DirectKernels<float> direct_f32;
extern const DirectKernels<double> direct_f64;

}  // namespace ondine::math::ONDINE_ISA
