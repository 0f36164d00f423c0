// Expansion of Gradient nodes, and of operators defined by other operators, into ordinary nodes.
#pragma once

#include "graph/contract/catalogue.h"
#include "graph/ir/graph.h"

namespace ondine::autodiff {

// Gradient of ai.onnx.preview.training. Has type inference only: expand() replaces it.
extern const graph::OpDef gradient_op;

// Whether the graph or one of its subgraphs contains a Gradient node.
bool has_gradient(const graph::Graph& graph);

// Replaces each Gradient node, in order, by nodes that compute it, so that Gradients of Gradients
// see ordinary nodes. Operators without a kernel and, if the graph contains a Gradient, operators
// without a gradient rule are replaced by their expansion. Throws Error(unsupported) naming an
// operator without derivative.
graph::Graph expand(graph::Graph graph, const graph::Catalogue& catalogue);

}  // namespace ondine::autodiff
