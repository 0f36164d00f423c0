// Which parameters are biases.
#pragma once

#include "graph/training/prepare/parameters/operands.h"

namespace ondine::graph {

// Terms that are added to what a layer gives, and what operators add along channels or features.
bool is_bias(const Operands& operands, const InitializerDef& one);

}  // namespace ondine::graph
