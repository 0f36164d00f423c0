// Helpers shared by the files of this folder.
#pragma once

#include "kernels/simd/conv/conv_table.h"
#include "kernels/simd/isa_tables.h"
#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {

using N = std::int64_t;

ONDINE_INLINE N min(N a, N b) { return a < b ? a : b; }
ONDINE_INLINE N max(N a, N b) { return a > b ? a : b; }

}  // namespace ondine::math::ONDINE_ISA
