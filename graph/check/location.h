// Locations within a model definition, for messages.
#pragma once

#include <string>
#include <string_view>

#include "graph/ir/document.h"

namespace ondine::graph {

// "node 'fc1' (Gemm)"; unnamed nodes by their first named output.
std::string describe(const NodeDef& node);
// "function 'F' of 'domain' overload 'o'"; empty domains and overloads are left out.
std::string describe(const FunctionDef& function);

// The graph or function being checked, with those around it: a chain that ends at the main graph.
// `outer` must outlive it.
struct Location {
  std::string text;  // empty for the main graph
  const Location* outer = nullptr;
};
// ", in then_branch of node 'if1' (If), in function 'F'"; empty for the main graph.
std::string within(const Location& location);

}  // namespace ondine::graph
