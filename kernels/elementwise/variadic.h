// Operators over any number of broadcast inputs, combined one after the other.
#pragma once

#include "kernels/elementwise/binary.h"

namespace ondine::kernels::ops {

// combine: a binary row of the compute dtype whose output has that dtype too. finish: applied in
// place to the combined elements, may be nullptr.
Kernel bind_variadic(const BindContext& context, RowFunction combine, RowFunction finish = nullptr,
                     Params params = {});

// Output 0: dtype of the inputs, broadcast dims. Before version 8 all shapes are the same.
void infer_variadic(InferContext& context);

}  // namespace ondine::kernels::ops
