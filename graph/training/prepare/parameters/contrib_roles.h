// Roles of initializers in operators of com.microsoft.
#pragma once

#include <string>

#include "graph/ir/document.h"

namespace ondine::graph {

// How the node uses input i as a constant that training leaves alone, such as a scale of quantized
// numbers; "" if it does not.
std::string contrib_role(const NodeDef& node, std::size_t i);

}  // namespace ondine::graph
