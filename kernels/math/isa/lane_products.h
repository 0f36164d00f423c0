// Products by the lanes of a vector: one instruction multiplies a vector by an element of another
// and adds, so that several factors cost one load. Elsewhere a factor in memory costs nothing more.
#pragma once

#include "kernels/math/isa/simd.h"

namespace ondine::math::ONDINE_ISA {

#if defined(__aarch64__)
inline constexpr bool has_lane_products = true;
#else
inline constexpr bool has_lane_products = false;
#endif

// acc[i][v] += a[i] row[v]
template <class T, int Rows, int Vectors, int First = 0>
ONDINE_INLINE void add_products(Vec<T> (&acc)[Rows][Vectors], const T* a,
                                const Vec<T> (&row)[Vectors]) {
  if constexpr (has_lane_products) {
    constexpr int count = Rows - First < lanes<T> ? Rows - First : lanes<T>;
    Vec<T> factors = load_n(a + First, count);
#if defined(__aarch64__)
    asm("" : "+w"(factors));  // g++ would take it apart in general registers
#endif
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i) {
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) acc[First + i][v] += factors[i] * row[v];
    }
    if constexpr (First + count < Rows) add_products<T, Rows, Vectors, First + count>(acc, a, row);
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const Vec<T> factor = broadcast(a[i]);
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) acc[i][v] += factor * row[v];
    }
  }
}

}  // namespace ondine::math::ONDINE_ISA
