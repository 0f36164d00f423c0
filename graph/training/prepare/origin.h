// What exporters write down about where initializers come from.
#pragma once

#include "graph/ir/document.h"
#include "graph/training/prepare/paths.h"

namespace ondine::graph {

// What PyTorch's exporter (dynamo=True) writes into the metadata of value_info or initializers:
// what is a parameter, and what is a buffer, a constant, folded from constants alone, or does not
// require a gradient. Other files say nothing.
struct Origins {
  Strings parameters;
  Strings constants;
};
Origins origins_of(const GraphDef& graph);

}  // namespace ondine::graph
