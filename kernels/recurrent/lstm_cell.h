// The cells of an LSTM with the default activations.
#pragma once

#include "kernels/simd/isa.h"
#include "kernels/simd/recurrent/cell_table.h"

namespace ondine::math {

template <class T>
const CellKernels<T>& cell_kernels(const SimdTables& kernels = math::simd_tables()) noexcept;

}  // namespace ondine::math
