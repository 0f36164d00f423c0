// Declares every operator of operators.inc.
#pragma once

#include "graph/contract/op_def.h"

namespace ondine::kernels::ops {

#define ONDINE_OPERATOR(name) extern const graph::OpDef name;
#include "kernels/operators.inc"
#undef ONDINE_OPERATOR

}  // namespace ondine::kernels::ops
