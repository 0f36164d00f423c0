// The register block for a number of rows, of vectors and an edge.
#pragma once

#include "kernels/simd/matmul/gemm_micro.h"

namespace ondine::math::ONDINE_ISA {

template <class T>
using Micro = void (*)(const Block<T>&, NextFactors&);

// Where there are no masked loads, a matrix B whose last vector is not whole is packed.
constexpr Edge partial_edge = has_masks ? Edge::masked : Edge::padded;

template <class T, int Vectors, Edge E, bool UnitRow, int... I>
constexpr Micro<T> pick_rows(int rows, std::integer_sequence<int, I...>) {
  constexpr Micro<T> all[] = {&micro<T, I + 1, Vectors, E, UnitRow>...};
  return all[rows - 1];
}

template <class T, int Rows, int Vectors, class S = T>
ONDINE_INLINE auto pick_wide(bool tail) {
  return tail ? &micro<T, Rows, Vectors, Edge::masked, false, false, S>
              : &micro<T, Rows, Vectors, Edge::whole, false, false, S>;
}

template <class T, int Vectors>
ONDINE_INLINE Micro<T> pick(int rows, bool tail, bool unit_row) {
  constexpr auto every = std::make_integer_sequence<int, max_rows>();
  if (tail) {
    return unit_row ? pick_rows<T, Vectors, partial_edge, true>(rows, every)
                    : pick_rows<T, Vectors, partial_edge, false>(rows, every);
  }
  return unit_row ? pick_rows<T, Vectors, Edge::whole, true>(rows, every)
                  : pick_rows<T, Vectors, Edge::whole, false>(rows, every);
}

// Blocks that pack B have nearly all rows.
constexpr int least_keeping = max_rows > 2 ? max_rows - 2 : 1;

template <class T, bool UnitRow>
ONDINE_INLINE Micro<T> pick_keeping(int rows) {
  constexpr auto whole = Edge::whole;
  if (rows == max_rows) return &micro<T, max_rows, panel_vectors, whole, UnitRow, true>;
  if (rows == max_rows - 1) return &micro<T, max_rows - 1, panel_vectors, whole, UnitRow, true>;
  return &micro<T, least_keeping, panel_vectors, whole, UnitRow, true>;
}

}  // namespace ondine::math::ONDINE_ISA
