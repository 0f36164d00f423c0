// Operators without kernels for graphs that are planned and not run.
#pragma once

#include "graph/contract/op_def.h"

namespace ondine::test {

inline void infer_nothing(graph::InferContext&) {}

inline const graph::OpDef plain{.name = "Plain", .infer = infer_nothing};
inline const graph::OpDef view{.name = "View", .infer = infer_nothing, .traits = {.view = true}};

}  // namespace ondine::test
