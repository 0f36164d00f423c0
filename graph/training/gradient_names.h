// The tensors that Gradient nodes name in their attributes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

struct GradientNames {
  std::vector<std::string> xs;
  std::vector<std::string> zs;
  std::string y;
};

// Empty for other nodes, and for one without xs or y. Throws Error(invalid_model) for attributes of
// another kind.
std::optional<GradientNames> gradient_names(const NodeDef& node);

// All that the Gradient nodes name which the node is or holds in subgraphs: without being inputs,
// the values between them are read, too.
std::vector<std::string> named_by_gradients(const NodeDef& node);

}  // namespace ondine::graph
