// The nodes of (x a) b.
#pragma once

#include <string>

#include "graph/training/adapters/record.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {

// Returns the product's name. `base`: the node of the layer; `x`: what the adapter reads, ids of an
// embedding.
std::string low_rank_nodes(GraphWriter& writer, LayerForm form, const NodeDef& base,
                           const std::string& x, const std::string& a, const std::string& b,
                           const std::string& hint);

}  // namespace ondine::graph
