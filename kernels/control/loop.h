// The derivative of Loop.
#pragma once

#include "graph/contract/builder.h"

namespace ondine::kernels::ops {

std::vector<graph::Val> loop_gradient(graph::GradContext& g);

}  // namespace ondine::kernels::ops
