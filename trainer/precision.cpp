#include <ondine/precision.h>

#include "kernels/simd/isa.h"

namespace ondine {

bool has_precision(Precision precision) noexcept {
  return precision != Precision::bfloat16 || &math::simd_tables(precision) != &math::simd_tables();
}

}  // namespace ondine
