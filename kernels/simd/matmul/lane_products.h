// Products by the lanes of a vector: one instruction multiplies a vector by an element of another
// and adds, so that several factors cost one load. Elsewhere a factor in memory costs nothing more.
#pragma once

#include "kernels/simd/vector/in_register.h"
#include "kernels/simd/vector/machine.h"
#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {

// acc[i][v] += a[i a_step] row[v]
template <class T, int Rows, int Vectors>
ONDINE_INLINE void add_separate_products(Vec<T> (&acc)[Rows][Vectors], const T* a,
                                         std::int64_t a_step, const Vec<T> (&row)[Vectors]) {
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    const Vec<T> factor = broadcast(a[i * a_step]);
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) acc[i][v] += factor * row[v];
  }
}

// acc[i][v] += a[i] row[v]
template <class T, int Rows, int Vectors, int First = 0>
ONDINE_INLINE void add_products(Vec<T> (&acc)[Rows][Vectors], const T* a,
                                const Vec<T> (&row)[Vectors]) {
  if constexpr (has_lane_products) {
    constexpr int count = Rows - First < lanes<T> ? Rows - First : lanes<T>;
    Vec<T> factors = load_n(a + First, count);
    factors = in_register(factors);  // g++ would take it apart in general registers
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i) {
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) acc[First + i][v] += factors[i] * row[v];
    }
    if constexpr (First + count < Rows) add_products<T, Rows, Vectors, First + count>(acc, a, row);
  } else {
    add_separate_products<T, Rows, Vectors>(acc, a, 1, row);
  }
}

}  // namespace ondine::math::ONDINE_ISA
