// Adapters taken up by the weights beside which they stand.
#pragma once

#include "graph/ir/document.h"

namespace ondine::graph {

// Each weight becomes what it is together with its adapter, whose nodes go. Where a weight is
// computed, as quantized ones are, the adapter stays beside it and in the record, and so does a
// prompt. Error(corrupt) where the record does not fit the graph.
void merge_adapters(ModelDef& model);

// The network without the nodes of adapters, whose values do not count: where its weights lead.
// Prompts stay.
void leave_out_adapters(ModelDef& model);

}  // namespace ondine::graph
