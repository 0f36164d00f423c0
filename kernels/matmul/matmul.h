// Shapes of matrix products.
#pragma once

#include "graph/contract/infer.h"

namespace ondine::kernels::ops {

// The dims of y = a b as in MatMul, or with the last two dims of a factor transposed.
// Error(mismatch) for scalars and inner dimensions that differ.
graph::Dims matmul_dims(graph::Dims a, graph::Dims b, bool trans_a = false, bool trans_b = false);

}  // namespace ondine::kernels::ops
