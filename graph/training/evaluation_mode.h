// Switches operators that behave differently in training to evaluation mode.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

// Dropout becomes the identity. BatchNormalization uses its running statistics, and its outputs of
// statistics become copies of them. Includes subgraphs. `opset`: the version of ai.onnx. Before
// opset 12 also recognizes the operators from which `prepare` composes a Dropout.
void set_evaluation_mode(std::vector<NodeDef>& nodes, std::int64_t opset);

}  // namespace ondine::graph
