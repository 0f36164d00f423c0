// Operators over any number of broadcast inputs, combined one after the other.
#pragma once

#include "kernels/elementwise/binary.h"

namespace ondine::kernels::ops {

// `combine` is a binary row in the compute dtype; `finish`, which may be nullptr, is applied in
// place to the combined elements.
Kernel bind_variadic(const BindContext& context, RowFunction combine, RowFunction finish = nullptr,
                     Params params = {});

// Output 0: dtype of the inputs, broadcast dims. Before version 8 all shapes are the same.
void infer_variadic(InferContext& context);

}  // namespace ondine::kernels::ops
