// Products and lookups of frozen weights that a model holds in few bits.
#pragma once

#include "graph/passes/fuse.h"

namespace ondine::graph {

// MatMul, MatMulT, Gemm and Gather of a large constant that DequantizeLinear or Cast makes float32
// of become DequantizeMatMul and DequantizeGather, which read the constant as it is stored: folding
// would keep it in float32. Returns whether the node was rewritten. The same bits.
bool fuse_dequantized(Node& node, const Graph& graph, const Uses& uses, const Catalogue& catalogue);

}  // namespace ondine::graph
