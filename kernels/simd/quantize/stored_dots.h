// Products by a matrix of few bits whose terms of a column follow each other: dot products.
#pragma once

#include "kernels/simd/quantize/stored_elements.h"

namespace ondine::math::ONDINE_ISA {

// Rows from `a` on and columns from `b` on, from their first term; the bytes of a column.
template <StoredAs As, int Rows, int Cols, bool Zeros>
struct Dots {
  using E = Elements<As>;
  static constexpr int L = lanes<float>;

  E elements;
  const float* a;
  std::int64_t a_row;
  const std::uint8_t* b;
  std::int64_t step;
  Vec<float> zeros[Cols];

  ONDINE_MEMBER void add_products(Vec<float> (&acc)[Rows][Cols], const Vec<float> (&x)[Rows][2],
                                  int j, Vec<float> first, Vec<float> second) const {
    if constexpr (Zeros) {
      first -= zeros[j];
      second -= zeros[j];
    }
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      acc[i][j] += x[i][0] * first;
      acc[i][j] += x[i][1] * second;
    }
  }

  // The terms from p on: two vectors, or `left`, which are fewer.
  template <bool Partial>
  ONDINE_MEMBER void add(Vec<float> (&acc)[Rows][Cols], std::int64_t p, std::int64_t left) const {
    Vec<float> x[Rows][2];
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const float* const from = a + i * a_row + p;
      x[i][0] = Partial ? load_some(from, left) : load(from);
      x[i][1] = Partial ? load_some(from + L, left - L) : load(from + L);
      if constexpr (E::pairs) separate(x[i][0], x[i][1]);
    }
#pragma GCC unroll 16
    for (int j = 0; j < Cols; ++j) {
      const std::uint8_t* const from = b + j * step + E::size_of(p);
      Vec<float> first, second;
      if constexpr (Partial) {
        elements.read_n(from, left, first, second);
      } else {
        elements.read(from, first, second);
      }
      add_products(acc, x, j, first, second);
    }
  }
};

// C[i, j] = sum over the blocks of scale (sum of products), of Cols columns.
template <StoredAs As, int Rows, int Cols, bool Zeros>
static void sum_terms(const StoredProductCall& call, std::int64_t row, std::int64_t column) {
  constexpr std::int64_t two = 2 * lanes<float>;
  const StoredMatrix& b = *call.b;
  const std::int64_t step = Elements<As>::size_of(b.k);
  Dots<As, Rows, Cols, Zeros> dots{Elements<As>(b.levels),
                                   call.a + row * call.a_row,
                                   call.a_row,
                                   b.elements + column * step,
                                   step,
                                   {}};
  Vec<float> sums[Rows][Cols] = {};
  std::int64_t scale_at = column * b.column_step;
  for (std::int64_t p = 0; p < b.k; scale_at += b.block_step) {
    const std::int64_t end = lesser(b.k, p + b.block);
    Vec<float> acc[Rows][Cols] = {};
    if constexpr (Zeros) {
#pragma GCC unroll 16
      for (int j = 0; j < Cols; ++j) {
        dots.zeros[j] = broadcast(zero_point(b, scale_at + j * b.column_step));
      }
    }
    for (; p + two <= end; p += two) dots.template add<false>(acc, p, two);
    if (p < end) dots.template add<true>(acc, p, end - p);
    p = end;
#pragma GCC unroll 16
    for (int j = 0; j < Cols; ++j) {
      const Vec<float> scale = broadcast(b.scales[scale_at + j * b.column_step]);
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i) sums[i][j] += scale * acc[i][j];
    }
  }
  for (int i = 0; i < Rows; ++i) {
    float* const c = call.c + (row + i) * call.ldc + column;
    for (int j = 0; j < Cols; ++j) {
      c[j] = lane_sum<float>(sums[i][j]) + (call.bias != nullptr ? call.bias[column + j] : 0);
    }
  }
}

template <StoredAs As, int Rows, int Cols>
ONDINE_INLINE void sum_group(const StoredProductCall& call, std::int64_t row, std::int64_t column) {
  if (call.b->zero_points != nullptr) {
    sum_terms<As, Rows, Cols, true>(call, row, column);
  } else {
    sum_terms<As, Rows, Cols, false>(call, row, column);
  }
}

template <StoredAs As, int Rows, int Cols>
ONDINE_INLINE void sum_groups(const StoredProductCall& call, std::int64_t& row, std::int64_t first,
                              std::int64_t last) {
  std::int64_t j = first;
  for (; j + Cols <= last; j += Cols) sum_group<As, Rows, Cols>(call, row, j);
  for (; j < last; ++j) sum_group<As, Rows, 1>(call, row, j);
  row += Rows;
}

template <StoredAs As>
void run_by_dots(const StoredProductCall& call) {
  constexpr int of_two = has_many_registers ? 4 : 2, of_four = of_two / 2;
  constexpr std::int64_t together = 8;  // columns that stay in the first cache for all rows
  const std::int64_t width = call.m <= 4 ? call.last - call.first : together;
  for (std::int64_t j = call.first; j < call.last; j += width) {
    const std::int64_t end = lesser(call.last, j + width);
    std::int64_t row = 0;
    while (row + 4 <= call.m) sum_groups<As, 4, of_four>(call, row, j, end);
    if (row + 2 <= call.m) sum_groups<As, 2, of_two>(call, row, j, end);
    if (row < call.m) sum_groups<As, 1, 4>(call, row, j, end);
  }
}

}  // namespace ondine::math::ONDINE_ISA
