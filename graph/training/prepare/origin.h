// Reads exporter metadata on the origin of initializers.
#pragma once

#include "graph/ir/document.h"
#include "graph/training/prepare/paths.h"

namespace ondine::graph {

// From the metadata of value_info or initializers that PyTorch's exporter (dynamo=True) writes:
// parameters; and buffers, constants, tensors folded from constants alone, and tensors that do not
// require a gradient. Both are empty for other files.
struct Origins {
  Strings parameters;
  Strings constants;
};
Origins origins_of(const GraphDef& graph);

}  // namespace ondine::graph
