// Detects what an exporter's optimizer changed about parameters.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

// Describes parameters that PyTorch modules have and the file does not: merged with those of other
// modules, transposed or folded under other names, and missing biases. Modules are known from node
// names ("/fc1/MatMul") or metadata. Empty for files of other exporters. `restored` are names of
// parameters and initializers of which nothing is to be said.
std::vector<std::string> lost_parameters(const ModelDef& model,
                                         const std::vector<std::string>& restored = {});

}  // namespace ondine::graph
