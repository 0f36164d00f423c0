// Included by every operator file.
#pragma once

#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"
#include "graph/contract/ops.h"
#include "kernels/common/visit_dtype.h"

namespace ondine::kernels::ops {

using namespace ondine::graph;  // NOLINT: an operator file is written in the graph's vocabulary

}  // namespace ondine::kernels::ops
