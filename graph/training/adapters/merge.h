// Adapters taken up by the weights beside which they stand.
#pragma once

#include "graph/ir/document.h"

namespace ondine::graph {

// Adds scale a b to each weight and removes the adapter's nodes. Where a weight is computed, as
// quantized ones are, the adapter stays beside it and in the record. Error(corrupt) where the
// record does not fit the graph.
void merge_adapters(ModelDef& model);

}  // namespace ondine::graph
