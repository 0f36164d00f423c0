// What OpTraits say about memory that a node's inputs and outputs share.
#pragma once

#include <cstddef>

#include "graph/ir/graph.h"

namespace ondine::graph {

// Whether the node's output `output`, if it has the type of input `input`, may be written into the
// memory of that input, which nothing else reads by then.
bool may_alias(const Node& node, std::size_t input, std::size_t output);

// The input that the node's output shows under another shape, or no_value.
ValueId viewed_input(const Node& node, std::size_t output = 0);

}  // namespace ondine::graph
