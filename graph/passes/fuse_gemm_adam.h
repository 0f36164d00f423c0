// The part of fuse_gemm_sgd_update for Adam.
#pragma once

#include "graph/passes/pass.h"

namespace ondine::graph {

// Adam of a large variable whose gradient is a product that nothing else reads, or one to which
// GatherGrad adds rows, becomes GemmAdam: the gradient is then computed and consumed strip by strip
// and never held as a whole. Small ones stay as they are: they fit into a cache.
bool fuse_gemm_adam(Graph& graph, const Pass& pass, const PassContext& context);

}  // namespace ondine::graph
