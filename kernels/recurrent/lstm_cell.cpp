#include "kernels/recurrent/lstm_cell.h"

#include "kernels/simd/tables.h"

namespace ondine::math {

template <class T>
const CellKernels<T>& cell_kernels(const SimdTables& kernels) noexcept {
  return *tables_of<T>(kernels).cells;
}

template const CellKernels<float>& cell_kernels<float>(const SimdTables&) noexcept;
template const CellKernels<double>& cell_kernels<double>(const SimdTables&) noexcept;

}  // namespace ondine::math
