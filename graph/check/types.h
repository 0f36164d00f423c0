// The type constraints of the standard's signatures on nodes whose types are known.
#pragma once

#include <span>
#include <string>

#include "graph/check/findings.h"
#include "graph/contract/signature.h"
#include "graph/ir/graph.h"

namespace ondine::graph {

// Each type must be allowed by the constraint of its parameter, and all parameters of one
// constraint must have the same type, shapes aside (variadic ones that need not be homogeneous are
// free). nullptr stands for an omitted input or output; what is not known of a type fits. `where`
// names the node.
void check_types(std::span<const Type* const> inputs, std::span<const Type* const> outputs,
                 const Signature& signature, const std::string& where, Findings& findings);

// The same for a node of a graph that has been inferred; nothing for operators without signature.
void check_types(const Node& node, const Graph& graph, Findings& findings);

}  // namespace ondine::graph
