// Tables of functions that each instruction set provides, one for each primitive. The header of its
// family (matmul/gemm_table.h, conv/conv_table.h, ...) describes it.
#pragma once

#include <cstdint>

#include "kernels/simd/isa.h"

namespace ondine::math {

template <class T>
struct VectorKernels;
template <class T>
struct GemmKernels;
template <class T>
struct SoftmaxKernels;
template <class T, class X = T>
struct LayerNormKernels;
template <class T, class X = T>
struct BatchNormKernels;
template <class T>
struct OptimizerKernels;
template <class T>
struct PoolKernels;
template <class T>
struct Im2colKernels;
template <class T>
struct DepthwiseRowKernels;
template <class T>
struct DepthwiseChannelKernels;
struct DepthwiseStripKernels;
template <class T, class X = T>
struct DepthwiseNormKernels;
template <class T>
struct WinogradKernels;
template <class T>
struct DirectKernels;
template <class T>
struct StridedConvKernels;
template <class T>
struct GroupedConvKernels;
template <class T>
struct CellKernels;
struct QuantizeKernels;
struct Int8GemmKernels;
struct FewPositionsKernels;
struct ConvertKernels;
struct AttentionRowKernels;
struct ShiftedConvKernels;

// Kernels of a normalization whose x is stored in bfloat16.
struct Bf16NormKernels {
  const LayerNormKernels<float, std::uint16_t>* layer_norm;
  const BatchNormKernels<float, std::uint16_t>* batch_norm;
  const DepthwiseNormKernels<float, std::uint16_t>* depthwise_norm;
};

// Tables of the functions that compute in T.
template <class T>
struct SimdTablesOf {
  const VectorKernels<T>* vector;
  const GemmKernels<T>* gemm;
  const SoftmaxKernels<T>* softmax;
  const LayerNormKernels<T>* layer_norm;
  const BatchNormKernels<T>* batch_norm;
  const OptimizerKernels<T>* optimizer;
  const PoolKernels<T>* pool;
  const Im2colKernels<T>* im2col;
  const DepthwiseRowKernels<T>* depthwise_3x3;
  const DepthwiseRowKernels<T>* depthwise_rows;
  const DepthwiseChannelKernels<T>* depthwise_channels;
  const DepthwiseNormKernels<T>* depthwise_norm;
  const WinogradKernels<T>* winograd;  // null in double
  const DirectKernels<T>* direct;
  const StridedConvKernels<T>* strided_conv;  // null in double
  const GroupedConvKernels<T>* grouped_conv;  // null in double
  const CellKernels<T>* cells;
};

struct SimdTables {
  Isa isa;
  const char* name;
  SimdTablesOf<float> f32;
  SimdTablesOf<double> f64;
  const QuantizeKernels* quantize;
  const Int8GemmKernels* int8_gemm;
  const FewPositionsKernels* few_positions;
  const DepthwiseStripKernels* depthwise_strips;
  const ConvertKernels* convert;
  Bf16NormKernels norm_bf16;
  const AttentionRowKernels* attention_rows = nullptr;  // where products round their factors
  const ShiftedConvKernels* shifted_conv = nullptr;     // where they do so in tiles
  ProductMode products = ProductMode::float32;
};

template <class T>
const SimdTablesOf<T>& tables_of(const SimdTables& kernels) noexcept {
  if constexpr (sizeof(T) == sizeof(float)) {
    return kernels.f32;
  } else {
    return kernels.f64;
  }
}

namespace baseline {
extern const SimdTables table;
}
namespace avx2 {
extern const SimdTables table;
}
namespace avx512 {
extern const SimdTables table;
}
namespace avx512_bf16 {
extern const GemmKernels<float> gemm_f32;
extern const GroupedConvKernels<float> grouped_conv_f32;
extern const AttentionRowKernels attention_rows;
}  // namespace avx512_bf16
namespace amx_bf16 {
extern const GemmKernels<float> tile_gemm_f32;
extern const GemmKernels<float> split_gemm_f32;
extern const ShiftedConvKernels shifted_conv;
}  // namespace amx_bf16
namespace avx512_vnni {
extern const Int8GemmKernels int8_gemm;
}

}  // namespace ondine::math
