// Products and lookups of frozen weights that a model holds in few bits.
#pragma once

#include <map>

#include "graph/passes/fuse.h"

namespace ondine::graph {

// Other forms of a graph's constants, each made once.
struct StoredForms {
  std::map<ValueId, ValueId> packed;  // the bytes of those that are held packed
                                      // (core/packed_elements.h), a uint8 constant
  struct Rounded {
    ValueId elements = no_value;
    ValueId scale = no_value;
    std::int64_t axis = 0;  // of the scale
  };
  std::map<ValueId, Rounded> rounded;  // by PassContext::round_weights
};

// MatMul, MatMulT, Gemm and Gather of a large constant that is made float32 of, by
// DequantizeLinear, by Cast, or by looking its elements up among 16 levels that block-wise scales
// multiply (nf4), become DequantizeMatMul and DequantizeGather, which read the constant as it is
// held: folding would keep it in float32. Returns whether the node was rewritten. `forms`: of this
// graph, filled here. The same numbers; products of few rows sum them in another order.
// Products of a large floating point constant that PassContext::round_weights rounds become
// DequantizeMatMul of what it gives, and ProjectedCrossEntropy reads that. The attribute
// loss_derivative marks products whose rows are the derivative of a loss by scores; Precision::int8
// leaves them in bfloat16.
bool fuse_dequantized(Node& node, Graph& graph, const Uses& uses, const PassContext& context,
                      StoredForms& forms);

// After all products: Gather of a constant that they read rounded reads it rounded too, since the
// table would be held twice.
bool fuse_rounded_lookup(Node& node, const Graph& graph, const PassContext& context,
                         const StoredForms& forms);

}  // namespace ondine::graph
