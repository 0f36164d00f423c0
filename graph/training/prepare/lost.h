// What an exporter's optimizer changed about parameters.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

// Sentences about parameters that modules of PyTorch have and the file does not: merged with those
// of other modules, transposed or folded under other names, biases that are not there. Nodes tell
// their modules by their names ("/fc1/MatMul") or metadata. Empty for files of other exporters.
std::vector<std::string> lost_parameters(const ModelDef& model);

}  // namespace ondine::graph
