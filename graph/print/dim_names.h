// Symbolic dims by name in messages.
#pragma once

#include <string>
#include <string_view>

#include "graph/ir/graph.h"

namespace ondine::graph {

// `text` with the names of the dims that to_string(Dims) writes as "?k": "[?0, 3]" is "[N, 3]"
// where the first symbol is N. Quoted text and numbers of no symbol stay.
std::string with_dim_names(std::string_view text, const Symbols& symbols);

}  // namespace ondine::graph
