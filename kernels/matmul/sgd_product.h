// A step of stochastic gradient descent as the epilogue of a product, w' = w - rate op(a) op(b):
// the gradient is never stored. For GemmUpdate.
#pragma once

#include "graph/contract/kernel.h"
#include "kernels/matmul/gemm_primitive.h"

namespace ondine::kernels::ops {

// `w`, `rate` and `a`: inputs of the node. a and b, the one after it, are stored as `shape` says.
template <class T>
graph::Kernel bind_sgd_product(graph::BindContext& context, const math::GemmShape& shape,
                               std::size_t w, std::size_t rate, std::size_t a);

}  // namespace ondine::kernels::ops
