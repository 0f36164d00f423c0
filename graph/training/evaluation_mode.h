// Operators that behave differently while training, set to evaluation.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

// Dropout passes its input through; BatchNormalization uses its running statistics, and its other
// outputs become copies of them. Holds for the bodies of nodes too. `opset`: the version of
// ai.onnx. A Dropout that `prepare` composed of older operators (before opset 12) is recognized as
// such.
void set_evaluation_mode(std::vector<NodeDef>& nodes, std::int64_t opset);

}  // namespace ondine::graph
