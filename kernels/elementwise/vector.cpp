#include "kernels/elementwise/vector.h"

#include <algorithm>

#include "kernels/simd/tables.h"

namespace ondine::math {

template <class T>
const VectorKernels<T>& vector_kernels(const SimdTables& kernels) noexcept {
  return *tables_of<T>(kernels).vector;
}

template <class T>
void apply(ThreadPool& pool, typename VectorKernels<T>::Unary function, T* dst, const T* src,
           std::int64_t n) {
  pool.for_chunks(n, elementwise_grain, [&](std::int64_t first, std::int64_t last) {
    function(dst + first, src + first, last - first);
  });
}

template <class T>
void column_sums(ThreadPool& pool, T* dst, const T* src, std::int64_t rows, std::int64_t cols,
                 std::int64_t ld, const SimdTables& kernels) {
  const auto sums = vector_kernels<T>(kernels).column_sums;
  constexpr std::int64_t strip = 64;  // columns of the widest vectors that are summed together
  const std::int64_t strips = (cols + strip - 1) / strip;
  const std::int64_t grain =
      std::max<std::int64_t>(1, 2 * elementwise_grain / (strip * (rows + 1)));
  pool.for_chunks(strips, grain, [&](std::int64_t first, std::int64_t last) {
    const std::int64_t from = first * strip;
    sums(dst + from, src + from, rows, std::min(cols, last * strip) - from, ld);
  });
}

#define ONDINE_INSTANTIATE(T)                                                               \
  template const VectorKernels<T>& vector_kernels<T>(const SimdTables&) noexcept;           \
  template void apply<T>(ThreadPool&, VectorKernels<T>::Unary, T*, const T*, std::int64_t); \
  template void column_sums<T>(ThreadPool&, T*, const T*, std::int64_t, std::int64_t,       \
                               std::int64_t, const SimdTables&);
ONDINE_INSTANTIATE(float)
ONDINE_INSTANTIATE(double)
#undef ONDINE_INSTANTIATE

}  // namespace ondine::math
