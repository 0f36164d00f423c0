// A part of recognize_attention: attention over rows whose samples were made the second dim, as
// PyTorch's MultiheadAttention does where a batch comes first.
#pragma once

#include "graph/passes/pass.h"

namespace ondine::graph {

// Replaces it by attention over rows as they come.
bool put_samples_first(Graph& graph, const PassContext& context);

}  // namespace ondine::graph
