// A part of recognize_attention: heads of keys and values that several heads of queries share.
#pragma once

#include "graph/ir/graph.h"

namespace ondine::graph {

// ScaledAttention reads keys and values as they are before each head of them was repeated for the
// heads of queries that share it, as exporters write it: Unsqueeze, Expand, Reshape.
bool share_keys(Graph& graph);

}  // namespace ondine::graph
