// QuantizeLinear and DequantizeLinear between float32 and integers of up to 16 bits, a row at a
// time (kernels/simd/quantize/quantize_table.h).
#pragma once

#include "graph/contract/kernel.h"

namespace ondine::kernels {

// Empty where the types of the node need the general loops. `lowest` and `highest` bound the
// results.
graph::Kernel bind_quantize_rows(graph::BindContext& context, double lowest, double highest);
graph::Kernel bind_dequantize_rows(graph::BindContext& context);

}  // namespace ondine::kernels
