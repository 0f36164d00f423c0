#include "kernels/recurrent/lstm_cell.h"

#include "kernels/simd/tables.h"

namespace ondine::math {

template <class T>
const CellKernels<T>& cell_kernels(const Kernels& kernels) noexcept {
  return *kernel_set<T>(kernels).cells;
}

template const CellKernels<float>& cell_kernels<float>(const Kernels&) noexcept;
template const CellKernels<double>& cell_kernels<double>(const Kernels&) noexcept;

}  // namespace ondine::math
