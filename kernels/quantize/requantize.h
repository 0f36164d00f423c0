// Shared by the operators on quantized operands: MatMulInteger, QLinearMatMul, ConvInteger,
// QLinearConv.
#pragma once

#include "graph/contract/infer.h"
#include "graph/contract/ops.h"
#include "kernels/simd/matmul/gemm_table.h"

namespace ondine::kernels {

// The type in which sums of `terms` products of 8-bit numbers are exact.
DType exact_dtype(graph::Dim terms);

// Rejects the vector `parameter`, a zero point or scale, unless it has one element or one for each
// row (axis -2) or column (-1) of the matrices of input `matrix`. `what` names both.
void check_product_parameter(const graph::InferContext& context, std::size_t parameter,
                             std::size_t matrix, int axis, std::string_view what);

// Rejects parameters of the result, a scale in input `scale` and a zero point in the next, that are
// not one number each.
void check_result_parameters(const graph::InferContext& context, std::size_t scale);

// x - zero point (may be empty) in `dtype`.
graph::Val centred(graph::Val x, graph::Val zero_point, DType dtype);

// saturate(activation(round(sums scale / y_scale)) + zero point) in the dtype of the zero point;
// `scale` broadcasts with the sums. The bounds of the activation are quantized too.
graph::Val requantize(graph::Val sums, graph::Val scale, graph::Val y_scale, graph::Val zero_point,
                      math::Activation activation = math::Activation::none);

// Whether a value is a tensor of int8 or uint8; an omitted one counts as such.
bool is_int8(const graph::Val& x);
// Whether it is known to have at most one dim.
bool is_vector(const graph::Val& x);

}  // namespace ondine::kernels
