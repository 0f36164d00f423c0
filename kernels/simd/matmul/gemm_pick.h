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

// Forms that are left out, as others do their part: each is tens of kilobytes of code. Of double
// that are those of edges, and where masks cost nothing, those for one whole vector.
template <class T, int Vectors, Edge E>
inline constexpr bool has_unit_rows = std::is_same_v<T, float> || max_separate_rows < max_rows ||
                                      (Vectors == panel_vectors && E == Edge::whole);
template <int Vectors>
inline constexpr bool has_whole_edge = !has_mask_registers || Vectors > 1;

template <class T, int Vectors, Edge E>
ONDINE_INLINE Micro<T> pick_edge(int rows, bool unit_row) {
  constexpr auto every = std::make_integer_sequence<int, max_rows>();
  if constexpr (has_unit_rows<T, Vectors, E>) {
    if (unit_row) return pick_rows<T, Vectors, E, true>(rows, every);
  }
  return pick_rows<T, Vectors, E, false>(rows, every);
}

template <class T, int Vectors>
ONDINE_INLINE Micro<T> pick(int rows, bool tail, bool unit_row) {
  if constexpr (has_whole_edge<Vectors>) {
    if (!tail) return pick_edge<T, Vectors, Edge::whole>(rows, unit_row);
  }
  return pick_edge<T, Vectors, partial_edge>(rows, unit_row);
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
