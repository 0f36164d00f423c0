// Weights that a model does not hold as initializers of its main graph: in Constant nodes, as some
// exporters write all of them, or in the branches of an If and the bodies of loops.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "graph/ir/document.h"
#include "graph/training/prepare/names.h"

namespace ondine::graph {

// Where a tensor is held, and the name that it gets as an initializer of the main graph. A place is
// the position of a Constant node ("3") or, in subgraphs, "7/else_branch/3" and "7/else_branch/i2"
// for an initializer there.
using HeldWeights = std::map<std::string, std::string>;

// Floating point tensors for which `wanted` holds. Names that are there twice get new ones.
HeldWeights find_held_weights(
    const GraphDef& main, Names& names,
    const std::function<bool(const std::string& name, const Tensor& held)>& wanted);

// Makes initializers of the main graph of them, with metadata that says where they were.
void lift_weights(GraphDef& main, const HeldWeights& weights);

// Puts every lifted initializer back where it was, with the value that it has now.
void lower_weights(GraphDef& main);

}  // namespace ondine::graph
