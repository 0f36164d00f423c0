// MaxPool of elements of 8 bits.
#pragma once

#include "graph/contract/kernel.h"
#include "kernels/pool/pool_primitive.h"

namespace ondine::kernels {

// y of a maximum over windows, without indices; empty where windows are too large for it.
graph::Kernel bind_max_bytes(graph::BindContext& context, const math::PoolShape& shape);

}  // namespace ondine::kernels
