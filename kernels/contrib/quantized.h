// Shared by the operators on quantized operands. Each is computed in floats, between nodes
// DequantizeLinear and QuantizeLinear, whose derivatives take rounding as the identity.
#pragma once

#include <cstdint>

#include "graph/contract/builder.h"
#include "graph/contract/infer.h"

namespace ondine::kernels {

// (x - zero point) scale: one scale for all, or one for each index of the last axis. The zero point
// may be empty.
graph::Val dequantize(graph::Val x, graph::Val scale, graph::Val zero_point);
// To `dtype`, which a zero point has too.
graph::Val quantize(graph::Val x, graph::Val scale, graph::Val zero_point, DType dtype);

// The numbers of `bits` (2, 4 or 8) in each byte of x, lower ones in lower bits: uint8, with an
// axis of 8 / bits after those of x.
graph::Val unpacked(graph::Val x, std::int64_t bits);

// Error(mismatch) unless x and its zero point (may be omitted) are of one 8-bit type and the scale
// is a float.
void require_quantized(const graph::InferContext& context, std::size_t x, std::size_t scale,
                       std::size_t zero_point);

}  // namespace ondine::kernels
