// Checks the types of a node against the type constraints of its signature.
#pragma once

#include <span>
#include <string>

#include "graph/check/findings.h"
#include "graph/contract/signature.h"
#include "graph/ir/graph.h"

namespace ondine::graph {

// Each type must be allowed by the constraint of its parameter, and all parameters that share a
// constraint must have the same type apart from shape; heterogeneous variadic parameters are
// exempt. nullptr stands for an omitted input or output; unknown parts of a type fit. `where` names
// the node.
void check_types(std::span<const Type* const> inputs, std::span<const Type* const> outputs,
                 const Signature& signature, const std::string& where, Findings& findings);

// Checks the types of a node after inference. Operators without signature pass.
void check_types(const Node& node, const Graph& graph, Findings& findings);

}  // namespace ondine::graph
