// The mask of ScaledAttention and PackedAttention.
#pragma once

#include "graph/contract/infer.h"

namespace ondine::kernels::ops {

// Rejects a mask, if there is one at `index`, that does not broadcast to the scores.
void check_mask(graph::InferContext& context, std::size_t index, const graph::Dims& scores);

}  // namespace ondine::kernels::ops
