// C^T = B^T A^T for few rows of A and a B that is stored by columns: B is read in place, as rows,
// where packing it would cost as much as a few rows of C.
#pragma once

#include <utility>

#include "kernels/simd/matmul/chunks.h"
#include "kernels/simd/matmul/gemm_block.h"

namespace ondine::math::ONDINE_ISA {

// Columns of C that are computed at once.
inline constexpr std::int64_t transposed_n = 144;

// The call of C^T in rows of g.m elements; the caller packs its right factor A^T and sets its C and
// its rows.
template <class T>
ONDINE_INLINE GemmCall<T> transposed_call(const GemmCall<T>& g) {
  GemmCall<T> t = g;
  std::swap(t.m, t.n);
  std::swap(t.a, t.b);
  t.a_row = g.b_col;
  t.a_col = g.b_row;
  t.b_row = g.a_col;
  t.b_col = g.a_row;
  std::swap(t.col_bias, t.row_bias);
  t.addend = nullptr;
  t.ldc = g.m;
  return t;
}

// to[j to_row + i] = from[i from_row + j], i < rows, j < cols.
template <class T>
static void transpose_block(T* to, std::int64_t to_row, const T* from, std::int64_t from_row,
                            std::int64_t rows, std::int64_t cols) {
  constexpr int L = lanes<T>;
  for (std::int64_t i = 0; i < rows; i += L) {
    const std::int64_t high = min_of(L, rows - i);
    for (std::int64_t j = 0; j < cols; j += L) {
      const std::int64_t wide = min_of(L, cols - j);
      const T* const source = from + i * from_row + j;
      T* const target = to + j * to_row + i;
      if (high == L && wide == L) {
        turn(
            target,
            to_row, [&](int r) __attribute__((always_inline)) { return source + r * from_row; });
        continue;
      }
      Vec<T> square[L];
      for (int r = 0; r < L; ++r) {
        square[r] = r < high ? load_n(source + r * from_row, wide) : Vec<T>{};
      }
      transpose<T>(square);
      for (std::int64_t c = 0; c < wide; ++c) store_n(target + c * to_row, square[c], high);
    }
  }
}

}  // namespace ondine::math::ONDINE_ISA
