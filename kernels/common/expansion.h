// Derivatives of fused operators.
#pragma once

#include "graph/contract/builder.h"

namespace ondine::kernels {

// A gradient rule: expands the node and differentiates the expansion. With it a fused operator is
// expanded only where its own derivative is asked for.
std::vector<graph::Val> grad_of_expansion(graph::GradContext& g);

}  // namespace ondine::kernels
