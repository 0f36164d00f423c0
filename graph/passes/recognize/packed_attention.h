// A part of recognize_attention: attention over the three parts of one product.
#pragma once

#include "graph/passes/pass.h"

namespace ondine::graph {

// Attention of interleaved heads that reads the parts of a Split becomes PackedAttention, which
// reads them where they lie. Its derivative is one value then, which no Concat assembles.
bool pack_operands(Graph& graph, const PassContext& context);

}  // namespace ondine::graph
