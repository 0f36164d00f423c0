// Replacing Gradient nodes, and operators that are defined by others, by ordinary nodes.
#pragma once

#include "graph/contract/catalogue.h"
#include "graph/ir/graph.h"

namespace ondine::autodiff {

// ai.onnx.preview.training's Gradient: types only, it has no kernel.
extern const graph::OpDef gradient_op;

// Whether the graph or a body in it holds a Gradient node.
bool has_gradient(const graph::Graph& graph);

// Replaces, in order, each Gradient node by the nodes that compute it; a Gradient of another's
// output sees ordinary nodes. Operators that have no kernel, or (where a Gradient is) no derivative
// of their own, are replaced by their expansion. Throws Error(unsupported) naming an operator
// without a derivative.
graph::Graph expand(const graph::Graph& graph, const graph::Catalogue& catalogue);

}  // namespace ondine::autodiff
