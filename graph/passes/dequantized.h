// Products and lookups of frozen weights that a model holds in few bits.
#pragma once

#include <map>

#include "graph/passes/fuse.h"

namespace ondine::graph {

// The bytes of constants that are held packed (core/packed_elements.h), each a uint8 constant.
using PackedValues = std::map<ValueId, ValueId>;

// MatMul, MatMulT, Gemm and Gather of a large constant that is made float32 of, by
// DequantizeLinear, by Cast, or by looking its elements up among 16 levels that block-wise scales
// multiply (nf4), become DequantizeMatMul and DequantizeGather, which read the constant as it is
// held: folding would keep it in float32. Returns whether the node was rewritten. `packed`: of this
// graph, filled here. The same bits.
bool fuse_dequantized(Node& node, Graph& graph, const Uses& uses, const Catalogue& catalogue,
                      PackedValues& packed);

}  // namespace ondine::graph
