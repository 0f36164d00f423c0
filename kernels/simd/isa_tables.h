// The tables that the files of this folder fill, declared for one instruction set.
#pragma once

#include "kernels/simd/tables.h"

#define ONDINE_TEXT_(x) #x
#define ONDINE_TEXT(x) ONDINE_TEXT_(x)
#if defined(__aarch64__)
#define ONDINE_ISA_NAME "neon"  // which every such processor has
#else
#define ONDINE_ISA_NAME ONDINE_TEXT(ONDINE_ISA)
#endif

namespace ondine::math::ONDINE_ISA {

#define ONDINE_TABLE(Table, name)       \
  extern const Table<float> name##_f32; \
  extern const Table<double> name##_f64;
ONDINE_TABLE(VectorKernels, vector)
ONDINE_TABLE(GemmKernels, gemm)
ONDINE_TABLE(SoftmaxKernels, softmax)
ONDINE_TABLE(LayerNormKernels, layer_norm)
ONDINE_TABLE(BatchNormKernels, batch_norm)
ONDINE_TABLE(OptimizerKernels, optimizer)
ONDINE_TABLE(PoolKernels, pool)
ONDINE_TABLE(Im2colKernels, im2col)
ONDINE_TABLE(DepthwiseRowKernels, depthwise_3x3)
ONDINE_TABLE(DepthwiseRowKernels, depthwise_rows)
ONDINE_TABLE(DepthwiseChannelKernels, depthwise_channels)
ONDINE_TABLE(DepthwiseNormKernels, depthwise_norm)
ONDINE_TABLE(DirectKernels, direct)
ONDINE_TABLE(CellKernels, cells)
#undef ONDINE_TABLE
extern const GemmKernels<float> tile_gemm_f32;
extern const GemmKernels<float> split_gemm_f32;
extern const AttentionRowKernels attention_rows;
extern const ShiftedConvKernels shifted_conv;
extern const WinogradKernels<float> winograd_f32;
extern const StridedConvKernels<float> strided_conv_f32;
extern const GroupedConvKernels<float> grouped_conv_f32;
extern const QuantizeKernels quantize_kernels;
extern const Int8GemmKernels int8_gemm;
extern const FewPositionsKernels few_positions;
extern const DepthwiseStripKernels depthwise_strips;
extern const ConvertKernels convert_kernels;
extern const LayerNormKernels<float, std::uint16_t> layer_norm_bf16;
extern const BatchNormKernels<float, std::uint16_t> batch_norm_bf16;
extern const DepthwiseNormKernels<float, std::uint16_t> depthwise_norm_bf16;

}  // namespace ondine::math::ONDINE_ISA
