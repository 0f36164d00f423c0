// The nodes of a function in the place of a call.
#pragma once

#include <cstddef>
#include <span>

#include "graph/ir/document.h"
#include "graph/training/prepare/names.h"

namespace ondine::graph {

// The function that a node calls, or nullptr.
const FunctionDef* called_function(std::span<const FunctionDef> functions, const NodeDef& node);

// Whether the function means the same operators as the model where both import a domain.
bool has_opsets_of(const FunctionDef& function, const ModelDef& model);

// Replaces nodes[at], a call of `function`, by the function's nodes. Values and nodes get new
// names, attributes that refer to those of the function the call's.
void inline_call(std::vector<NodeDef>& nodes, std::size_t at, const FunctionDef& function,
                 Names& names);

}  // namespace ondine::graph
