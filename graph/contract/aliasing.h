// Memory that a node's inputs and outputs may share, according to OpTraits.
#pragma once

#include <cstddef>

#include "graph/ir/graph.h"

namespace ondine::graph {

// Whether output `output` may be written into the memory of input `input`, given that both have the
// same type and nothing else reads that input afterwards.
bool may_alias(const Node& node, std::size_t input, std::size_t output);

// The input of which the output is a view under another shape, or no_value.
ValueId viewed_input(const Node& node, std::size_t output = 0);

}  // namespace ondine::graph
