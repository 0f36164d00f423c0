// The kernels of an operator's products.
#pragma once

#include "graph/contract/kernel.h"
#include "kernels/simd/isa.h"

namespace ondine::kernels {

// Whether products of elements of the type may round them to bfloat16.
inline bool may_round(DType dtype) { return dtype == DType::float32 || dtype == DType::bfloat16; }

// Kernels of the precision that was asked for, if input `i` of the node may be rounded. float16
// keeps full precision: it has more digits than bfloat16.
inline const math::SimdTables& product_kernels(const graph::BindContext& context,
                                               std::size_t i = 0) {
  return math::simd_tables(may_round(context.dtype(i)) ? context.precision() : Precision::float32);
}

}  // namespace ondine::kernels
