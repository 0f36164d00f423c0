// The passes that run once on a resolved graph: recognition before derivatives are expanded, the
// others after.
#pragma once

#include <ondine/model.h>

#include "graph/contract/catalogue.h"
#include "graph/ir/graph.h"
#include "graph/passes/pass.h"
#include "trainer/model/rounded_weights.h"

namespace ondine::trainer {

// Runs the recognition passes, to be called before derivatives are expanded.
void recognize(graph::Graph& graph, const graph::Catalogue& catalogue, const LoadOptions& options);

// Throws Error(mismatch) for a name in ONDINE_NO_FUSION that is not a fusion.
// `folded` is shared by the graphs of a model; their constants must outlive it. So is `rounded`,
// which may be null.
void optimize(graph::Graph& graph, const graph::Catalogue& catalogue, const LoadOptions& options,
              graph::FoldedConvolutions& folded, RoundedWeights* rounded);

// Whether an optimized graph has products that Precision::int8 computes in 8 bits if they have rows
// enough.
bool multiplies_bytes(const graph::Graph& graph);

}  // namespace ondine::trainer
