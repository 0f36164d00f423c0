// Arithmetic on the elements of sequences and optionals in operators of the standard.
#pragma once

#include <functional>
#include <span>

#include "graph/contract/ops.h"

namespace ondine::kernels {

using ElementFunction = std::function<graph::Val(std::span<const graph::Val> elements)>;

// What `f` makes of values of equal structure: tensors give f of them, sequences the sequence of f
// of their elements (SequenceMap), optionals an optional of f of their elements, empty where they
// are (If).
graph::Val map_elements(std::span<const graph::Val> values, const ElementFunction& f);

// The position counted from the start of `sequence`; empty when it is not given.
graph::Val from_start(graph::Val position, graph::Val sequence);

}  // namespace ondine::kernels
