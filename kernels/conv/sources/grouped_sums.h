// Gradients of weights of which groups of images are summed apart, so that threads share the work
// and their number changes no bit.
#pragma once

#include "core/parallel.h"
#include "kernels/simd/tables.h"
#include "kernels/simd/vector/vector_table.h"

namespace ondine::math {

// Adds `groups` rows of n elements, in order.
template <class T>
void add_groups(ThreadPool& pool, const SimdTablesOf<T>& set, const T* sums, std::int64_t groups,
                std::int64_t n, T* result) {
  if (groups == 0) return;
  constexpr std::int64_t grain = std::int64_t{1} << 18;
  pool.for_chunks(n, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t group = 0; group < groups; ++group) {
      set.vector->add.vv(result + first, result + first, sums + group * n + first, last - first);
    }
  });
}

}  // namespace ondine::math
