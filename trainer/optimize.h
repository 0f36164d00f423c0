// Stage 6: the passes that run once on a resolved graph.
#pragma once

#include <ondine/model.h>

#include "graph/contract/catalogue.h"
#include "graph/ir/graph.h"

namespace ondine::trainer {

// Throws Error(mismatch) for a name in LoadOptions::no_fusion that is no pass.
void optimize(graph::Graph& graph, const graph::Catalogue& catalogue, const LoadOptions& options);

}  // namespace ondine::trainer
