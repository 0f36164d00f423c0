// Shared by the operators on quantized operands: MatMulInteger, QLinearMatMul, ConvInteger,
// QLinearConv.
#pragma once

#include "graph/contract/ops.h"

namespace ondine::kernels {

// The type in which sums of `terms` products of 8-bit numbers are exact.
DType exact_dtype(graph::Dim terms);

// x - zero point (may be empty) in `dtype`.
graph::Val centred(graph::Val x, graph::Val zero_point, DType dtype);

// saturate(round(sums scale / y_scale) + zero point) in the dtype of the zero point; `scale`
// broadcasts with the sums.
graph::Val requantize(graph::Val sums, graph::Val scale, graph::Val y_scale, graph::Val zero_point);

}  // namespace ondine::kernels
