// Rules that Int8Add and Int8Mul share: (a, scale of a, zero point of a, b, scale of b, zero point
// of b, scale of y, zero point of y) -> QuantizeLinear of a function of their DequantizeLinear,
// with the same bits. The activation that `activation` names (Relu, Relu6) comes before
// QuantizeLinear. Each has one scale; zero points may be omitted, except that of y. b has the shape
// of a, or 1 in place of its last dims.
#pragma once

#include "kernels/common/op.h"
#include "kernels/simd/quantize/quantize_table.h"

namespace ondine::kernels::ops {

void infer_int8_pair(InferContext& context);
Kernel bind_int8_pair(BindContext& context,
                      math::QuantizeKernels::Pair math::QuantizeKernels::*pair);
std::vector<Val> expand_int8_pair(ExpandContext& context, Val (*combine)(Val a, Val b));

}  // namespace ondine::kernels::ops
