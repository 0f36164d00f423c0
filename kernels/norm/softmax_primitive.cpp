#include "kernels/norm/softmax_primitive.h"

#include <algorithm>

#include "kernels/common/grain.h"
#include "kernels/simd/norm/softmax_table.h"
#include "kernels/simd/tables.h"

namespace ondine::math {
namespace {

template <class Row>
void for_rows(ThreadPool& pool, std::int64_t rows, std::int64_t length, Row&& row) {
  if (length == 0) return;
  const std::int64_t grain = std::max<std::int64_t>(1, elementwise_grain / 2 / length);
  pool.for_chunks(rows, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) row(i * length);
  });
}

}  // namespace

template <class T>
void softmax(ThreadPool& pool, T* y, const T* x, std::int64_t rows, std::int64_t length,
             const Kernels& kernels) {
  const auto row = kernel_set<T>(kernels).softmax->softmax;
  for_rows(pool, rows, length, [&](std::int64_t at) { row(y + at, x + at, length); });
}

template <class T>
void log_softmax(ThreadPool& pool, T* y, const T* x, std::int64_t rows, std::int64_t length,
                 const Kernels& kernels) {
  const auto row = kernel_set<T>(kernels).softmax->log_softmax;
  for_rows(pool, rows, length, [&](std::int64_t at) { row(y + at, x + at, length); });
}

template <class T>
void softmax_gradient(ThreadPool& pool, T* dx, const T* dy, const T* y, std::int64_t rows,
                      std::int64_t length, const Kernels& kernels) {
  const auto row = kernel_set<T>(kernels).softmax->softmax_gradient;
  for_rows(pool, rows, length, [&](std::int64_t at) { row(dx + at, dy + at, y + at, length); });
}

template <class T>
void log_softmax_gradient(ThreadPool& pool, T* dx, const T* dy, const T* y, std::int64_t rows,
                          std::int64_t length, const Kernels& kernels) {
  const auto row = kernel_set<T>(kernels).softmax->log_softmax_gradient;
  for_rows(pool, rows, length, [&](std::int64_t at) { row(dx + at, dy + at, y + at, length); });
}

#define ONDINE_INSTANTIATE(T)                                                                      \
  template void softmax<T>(ThreadPool&, T*, const T*, std::int64_t, std::int64_t, const Kernels&); \
  template void log_softmax<T>(ThreadPool&, T*, const T*, std::int64_t, std::int64_t,              \
                               const Kernels&);                                                    \
  template void softmax_gradient<T>(ThreadPool&, T*, const T*, const T*, std::int64_t,             \
                                    std::int64_t, const Kernels&);                                 \
  template void log_softmax_gradient<T>(ThreadPool&, T*, const T*, const T*, std::int64_t,         \
                                        std::int64_t, const Kernels&);
ONDINE_INSTANTIATE(float)
ONDINE_INSTANTIATE(double)
#undef ONDINE_INSTANTIATE

}  // namespace ondine::math
