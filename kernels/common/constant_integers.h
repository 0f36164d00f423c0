// Integer vectors whose elements are known during type inference: the arithmetic of shapes.
#pragma once

#include "graph/contract/infer.h"

namespace ondine::kernels::ops {

// Sets the known elements of output 0 from those of inputs 0 and 1, scalars being repeated.
// `combine` returns nothing where the result is negative or unknown.
void combine_known_elements(graph::InferContext& context,
                            std::optional<graph::Dim> (*combine)(graph::Dim, graph::Dim));

// Output 0 has the known elements of input 0.
void copy_known_elements(graph::InferContext& context);

}  // namespace ondine::kernels::ops
