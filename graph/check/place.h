// Naming the parts of a written model in messages.
#pragma once

#include <string>
#include <string_view>

#include "graph/ir/document.h"

namespace ondine::graph {

// "node 'fc1' (Gemm)"; unnamed nodes by their first named output.
std::string describe(const NodeDef& node);
// "function 'F'", with domain and overload where there are.
std::string describe(const FunctionDef& function);

// The graph that is looked at, as a chain that ends at the model: "branch of if1", "function F".
// Refers to the outer place, which outlives it.
struct Place {
  std::string text;  // empty for the main graph
  const Place* outer = nullptr;
};
// ", in then_branch of node 'if1' (If), in function 'F'"; empty for the main graph.
std::string within(const Place& place);

}  // namespace ondine::graph
