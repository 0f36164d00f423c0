// Gives parameters that an exporter merged tensors of their own again.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/document.h"
#include "graph/training/prepare/exporter/traced.h"

namespace ondine::graph {

// Gives running statistics and constants (merged.h) initializers of their own, and parameters
// unless `separation` is none, under the names that they have in PyTorch. Returns notes on what was
// separated and on what trains as one.
std::vector<std::string> separate_merged(ModelDef& model, Separation separation);

}  // namespace ondine::graph
