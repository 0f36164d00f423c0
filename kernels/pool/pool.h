// Shape rules and descriptors that pooling operators share. x is [N, C, spatial...].
#pragma once

#include "graph/contract/infer.h"
#include "kernels/common/window/sliding_window.h"
#include "kernels/pool/pool_primitive.h"

namespace ondine::kernels {

// Dims of the pooled x; absent while its rank is unknown.
std::optional<graph::Dims> pooled_dims(const graph::NodeView& node,
                                       const std::optional<graph::Dims>& x);
// Output 0 is the pooled input 0.
void infer_pool(graph::InferContext& context);
// For an operator of (dy, shape of x): checks dy and gives the output the shape of x.
void infer_pool_gradient(graph::InferContext& context);

// Error(mismatch) when a window holds no element of x, unless padding counts.
math::PoolShape pool_shape(const graph::NodeView& node, const Shape& x, bool padding_counts);

}  // namespace ondine::kernels
