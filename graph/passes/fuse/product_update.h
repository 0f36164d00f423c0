// Updates of variables by a product, which become GemmUpdate (kernels/matmul/product_update.cpp).
#pragma once

#include "graph/ir/graph.h"

namespace ondine::graph {

// Whether a Gemm is op(A) op(B) alone.
bool is_sole_product(const Node& gemm);

// Makes `node`, an optimizer, the GemmUpdate `op`: its input `gradient` is `product`, to which
// `lookup`, a GatherGrad, adds rows where given. Input `like` has the type of the variable.
void update_by_product(Node& node, const OpDef& op, std::size_t gradient, std::size_t like,
                       const Node& product, const Node* lookup = nullptr);

}  // namespace ondine::graph
