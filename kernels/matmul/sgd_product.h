// A step of stochastic gradient descent as the epilogue of a product, w' = w - rate op(a) op(b):
// the gradient is never stored. For GemmUpdate.
#pragma once

#include "graph/contract/kernel.h"
#include "kernels/matmul/gemm_primitive.h"

namespace ondine::kernels::ops {

// `w` and `rate`: inputs of the node. a and b are its inputs 0 and 1, stored as `shape` says.
template <class T>
graph::Kernel bind_sgd_product(graph::BindContext& context, const math::GemmShape& shape,
                               std::size_t w, std::size_t rate);

}  // namespace ondine::kernels::ops
