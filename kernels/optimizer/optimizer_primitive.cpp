#include "kernels/optimizer/optimizer_primitive.h"

#include <algorithm>

#include "kernels/common/grain.h"
#include "kernels/simd/tables.h"

namespace ondine::math {

template <class T>
void sgd(ThreadPool& pool, const Sgd<T>& o, std::int64_t n, const T* x, const T* g, T* x_new,
         const SimdTables& kernels) {
  const auto row = tables_of<T>(kernels).optimizer->sgd;
  pool.for_chunks(n, elementwise_grain, [&](std::int64_t i, std::int64_t last) {
    row(o, last - i, x + i, g + i, x_new + i);
  });
}

// Blocks of rows from the last to the first: the next step reads them from the first on, and finds
// what was written last in a cache.
template <class T>
void thin_sgd_update(ThreadPool& pool, const ThinSgdUpdate<T>& o, const T* w, const T* a,
                     const T* b, T* w_new, const SimdTables& kernels) {
  constexpr std::int64_t block = 32768;  // elements
  const auto rows = tables_of<T>(kernels).optimizer->thin_sgd_update;
  const std::int64_t grain = std::max<std::int64_t>(1, block / std::max<std::int64_t>(1, o.n));
  pool.for_chunks(o.m, grain, [&](std::int64_t first, std::int64_t last) {
    ThinSgdUpdate<T> part = o;
    part.m = last - first;
    const std::int64_t row = o.m - last;
    rows(part, w + row * o.n, a + row * o.a_row, b, w_new + row * o.n);
  });
}

template <class T>
void momentum(ThreadPool& pool, const Momentum<T>& o, std::int64_t n, const T* x, const T* g,
              const T* v, T* x_new, T* v_new, const SimdTables& kernels) {
  const auto row = tables_of<T>(kernels).optimizer->momentum;
  pool.for_chunks(n, elementwise_grain, [&](std::int64_t i, std::int64_t last) {
    row(o, last - i, x + i, g + i, v + i, x_new + i, v_new + i);
  });
}

template <class T>
void adagrad(ThreadPool& pool, const Adagrad<T>& o, std::int64_t n, const T* x, const T* g,
             const T* h, T* x_new, T* h_new, const SimdTables& kernels) {
  const auto row = tables_of<T>(kernels).optimizer->adagrad;
  pool.for_chunks(n, elementwise_grain, [&](std::int64_t i, std::int64_t last) {
    row(o, last - i, x + i, g + i, h + i, x_new + i, h_new + i);
  });
}

template <class T>
void adam(ThreadPool& pool, const Adam<T>& o, std::int64_t n, const T* x, const T* g, const T* v,
          const T* h, T* x_new, T* v_new, T* h_new, const SimdTables& kernels) {
  const auto row = tables_of<T>(kernels).optimizer->adam;
  pool.for_chunks(n, elementwise_grain, [&](std::int64_t i, std::int64_t last) {
    row(o, last - i, x + i, g + i, v + i, h + i, x_new + i, v_new + i, h_new + i);
  });
}

#define ONDINE_INSTANTIATE(T)                                                                    \
  template void sgd<T>(ThreadPool&, const Sgd<T>&, std::int64_t, const T*, const T*, T*,         \
                       const SimdTables&);                                                       \
  template void thin_sgd_update<T>(ThreadPool&, const ThinSgdUpdate<T>&, const T*, const T*,     \
                                   const T*, T*, const SimdTables&);                             \
  template void momentum<T>(ThreadPool&, const Momentum<T>&, std::int64_t, const T*, const T*,   \
                            const T*, T*, T*, const SimdTables&);                                \
  template void adagrad<T>(ThreadPool&, const Adagrad<T>&, std::int64_t, const T*, const T*,     \
                           const T*, T*, T*, const SimdTables&);                                 \
  template void adam<T>(ThreadPool&, const Adam<T>&, std::int64_t, const T*, const T*, const T*, \
                        const T*, T*, T*, T*, const SimdTables&);
ONDINE_INSTANTIATE(float)
ONDINE_INSTANTIATE(double)
#undef ONDINE_INSTANTIATE

}  // namespace ondine::math
