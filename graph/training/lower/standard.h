// Rewriting a resolved graph in operators of the standard alone.
#pragma once

#include "graph/contract/catalogue.h"
#include "graph/ir/graph.h"

namespace ondine::graph {

// Whether the node is one of ai.onnx or ai.onnx.ml as the standard defines it in the node's version
// of its domain: neither an operator nor an attribute, input or output of Ondine's own.
bool is_standard(const Node& node);

// Replaces each node that is not standard, in subgraphs too, by its expansion until none is left.
// Throws Error(unsupported) naming the node and the operator without a standard form.
Graph expand_to_standard(const Graph& graph, const Catalogue& catalogue);

// Replaces recurrent operators by their steps, also those in the expansions of composed operators.
// Derivatives are then those of standard operators, while the kernels of recurrent derivatives read
// what only Ondine's own operators write.
Graph unroll_recurrences(const Graph& graph, const Catalogue& catalogue);

// Removes outputs that nothing reads from the ends of the nodes' lists, except where their number
// says what the node computes.
void trim_outputs(Graph& graph);

// Gives a value to each output of nodes with subgraphs and to the statistics of a normalization
// that trains: some runtimes accept these nodes only with all of their outputs.
void complete_outputs(Graph& graph);

}  // namespace ondine::graph
