// Stage 6: the passes that run once on a resolved graph, those of `recognize` before stage 5.
#pragma once

#include <ondine/model.h>

#include "graph/contract/catalogue.h"
#include "graph/ir/graph.h"

namespace ondine::trainer {

// Before derivatives are made: composed forms become operators with derivatives of their own.
void recognize(graph::Graph& graph, const graph::Catalogue& catalogue, const LoadOptions& options);

// Throws Error(mismatch) for a name in LoadOptions::no_fusion that is no pass.
void optimize(graph::Graph& graph, const graph::Catalogue& catalogue, const LoadOptions& options);

}  // namespace ondine::trainer
