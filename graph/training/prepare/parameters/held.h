// Weights that are not initializers of the main graph: in Constant nodes, where some exporters
// write all weights, or in subgraphs.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "graph/ir/document.h"
#include "graph/training/prepare/names.h"

namespace ondine::graph {

// Location of each such tensor, and its name as an initializer of the main graph. A location is the
// position of a Constant node ("3") or, in subgraphs, "7/else_branch/3", and "7/else_branch/i2" for
// an initializer.
using HeldWeights = std::map<std::string, std::string>;

// Floating-point tensors for which `wanted` returns true. Duplicate names are replaced.
HeldWeights find_held_weights(
    const GraphDef& main, Names& names,
    const std::function<bool(const std::string& name, const Tensor& held)>& wanted);

// Turns them into initializers of the main graph, with metadata that records their location.
void lift_weights(GraphDef& main, const HeldWeights& weights);

// Whether lift_weights() made the initializer of a Constant node.
bool was_constant_node(const InitializerDef& one) noexcept;

// Moves every lifted initializer back to its location, with its current value.
void lower_weights(GraphDef& main);

}  // namespace ondine::graph
