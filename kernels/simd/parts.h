// The tables that the files of this folder fill.
#pragma once

#include "kernels/simd/tables.h"

namespace ondine::math::ONDINE_ISA {

extern const VectorKernels<float> vector_f32;
extern const VectorKernels<double> vector_f64;
extern const GemmKernels<float> gemm_f32;
extern const GemmKernels<double> gemm_f64;
extern const RowKernels<float> rows_f32;
extern const RowKernels<double> rows_f64;
extern const Im2colKernels<float> im2col_f32;
extern const Im2colKernels<double> im2col_f64;
extern const DepthwiseRowKernels<float> depthwise_rows_f32;
extern const DepthwiseRowKernels<double> depthwise_rows_f64;
extern const PoolKernels<float> pools_f32;
extern const PoolKernels<double> pools_f64;
extern const CellKernels<float> cells_f32;
extern const CellKernels<double> cells_f64;

}  // namespace ondine::math::ONDINE_ISA
