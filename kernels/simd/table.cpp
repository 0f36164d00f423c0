#include "kernels/simd/isa_tables.h"

namespace ondine::math::ONDINE_ISA {

constinit const SimdTables table = {
    Isa::ONDINE_ISA,
    ONDINE_ISA_NAME,
    {&vector_f32, &gemm_f32, &softmax_f32, &layer_norm_f32, &batch_norm_f32, &optimizer_f32,
     &pool_f32, &im2col_f32, &depthwise_3x3_f32, &depthwise_rows_f32, &depthwise_channels_f32,
     &depthwise_norm_f32, &winograd_f32, &direct_f32, &strided_conv_f32, &grouped_conv_f32,
     &cells_f32},
    {&vector_f64, &gemm_f64, &softmax_f64, &layer_norm_f64, &batch_norm_f64, &optimizer_f64,
     &pool_f64, &im2col_f64, &depthwise_3x3_f64, &depthwise_rows_f64, &depthwise_channels_f64,
     &depthwise_norm_f64, nullptr, &direct_f64, nullptr, nullptr, &cells_f64},
    &quantize_kernels,
    &int8_gemm,
    &few_positions,
    &depthwise_strips,
    &convert_kernels,
    {&layer_norm_bf16, &batch_norm_bf16, &depthwise_norm_bf16},
};

}  // namespace ondine::math::ONDINE_ISA
