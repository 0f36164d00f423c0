// The limit on the size of a tensor.
#pragma once

#include <ondine/limits.h>

#include "graph/ir/type.h"

namespace ondine::graph {

// Throws Error(limit) when a tensor of this type has more bytes than Limits::tensor_bytes. Types
// whose shape is dynamic, and values that are not tensors, pass.
void require_tensor_fits(const Type& type, const Limits& limits);

}  // namespace ondine::graph
