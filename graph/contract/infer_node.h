// Type inference of a node within its graph.
#pragma once

#include "graph/contract/infer.h"

namespace ondine::graph {

// Infers the types and known elements of the node's outputs from the graph's current types and
// stores them in the graph, merged with declared types; retypes subgraphs. Errors name the node.
// Throws Error(mismatch) when a declared type contradicts the inferred one.
void infer_node(Node& node, Graph& graph);

// Infers a node like infer_node() above; `infer_subgraph` infers its subgraphs.
void infer_node(Node& node, Graph& graph, const InferContext::InferSubgraph& infer_subgraph);

// Sets the type of a value to `inferred` merged with the declared one.
void set_type(Graph& graph, ValueId id, const Type& inferred);

// A copy of `graph` with every node inferred for these input types. `constants` holds the elements
// of inputs where known, undefined tensors elsewhere.
Graph retype(const Graph& graph, std::span<const Type> inputs,
             std::span<const Tensor> constants = {});

}  // namespace ondine::graph
