// Applying an operator's infer rule to a node of a graph.
#pragma once

#include "graph/contract/infer.h"

namespace ondine::graph {

// Infers the types of the node's outputs from the graph's present types and writes them (merged
// with what was declared) together with known elements; bodies are typed anew. Errors carry the
// node as context; Error(mismatch) when a declared type contradicts.
void infer_node(Node& node, Graph& graph);

// The same with a caller's way to type bodies: called with the body's index and the types of its
// formal inputs, returns the types of its outputs.
void infer_node(Node& node, Graph& graph, const InferContext::InferBody& infer_body);

// Sets the type of a value to `inferred` merged with the declared one.
void set_type(Graph& graph, ValueId id, const Type& inferred);

// A copy of `graph` typed for inputs of these types, every node inferred anew. `constants` gives
// inputs whose elements are known (undefined: not).
Graph retype(const Graph& graph, std::span<const Type> inputs,
             std::span<const Tensor> constants = {});

}  // namespace ondine::graph
