// Stage 6: the passes that run once on a resolved graph, those of `recognize` before stage 5.
#pragma once

#include <ondine/model.h>

#include "graph/contract/catalogue.h"
#include "graph/ir/graph.h"
#include "graph/passes/pass.h"

namespace ondine::trainer {

// Before derivatives are made: composed forms become operators with derivatives of their own.
void recognize(graph::Graph& graph, const graph::Catalogue& catalogue, const LoadOptions& options);

// Throws Error(mismatch) for a name in ONDINE_NO_FUSION that is no fusion.
// `folded` is shared by the graphs of one model while their constants live.
void optimize(graph::Graph& graph, const graph::Catalogue& catalogue, const LoadOptions& options,
              graph::FoldedConvolutions& folded);

}  // namespace ondine::trainer
