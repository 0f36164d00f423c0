// Shapes and batches of matrix products.
#pragma once

#include "graph/contract/infer.h"
#include "kernels/matmul/gemm_primitive.h"

namespace ondine::kernels::ops {

// The dims of y = a b as in MatMul, or with the last two dims of a factor transposed.
// Error(mismatch) for scalars and inner dimensions that differ.
graph::Dims matmul_dims(graph::Dims a, graph::Dims b, bool trans_a = false, bool trans_b = false);

// The product as batches of matrices; one matrix b for all rows of a is a single product.
struct MatmulBatches {
  math::GemmShape shape;
  std::int64_t count = 1;
  std::vector<std::int64_t> a;  // element offsets of each batch
  std::vector<std::int64_t> b;
};
MatmulBatches matmul_batches(const Shape& a, const Shape& b, bool trans_a, bool trans_b);

}  // namespace ondine::kernels::ops
