// Gives parameters that an exporter merged tensors of their own again.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

// Gives running statistics and constants (merged.h) initializers of their own, and parameters where
// `untie` says so, under the names that they have in PyTorch. Returns notes on what was separated
// and on what trains as one.
std::vector<std::string> separate_merged(ModelDef& model, bool untie);

}  // namespace ondine::graph
