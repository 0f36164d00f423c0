// Products of few rows: A and B are read where they lie, and nothing is packed.
#pragma once

#include "kernels/simd/matmul/gemm_block.h"
#include "kernels/simd/matmul/gemm_pick.h"

namespace ondine::math::ONDINE_ISA {

// Larger matrices B are read from memory at every product.
inline constexpr std::int64_t last_cache = std::int64_t{8} << 20;

// Element (0, j) of B.
template <class S, class T>
const S* column_of_b(const GemmCall<T>& g, std::int64_t j) {
  if constexpr (sizeof(S) < sizeof(T)) {
    return g.b.bf16() + j * g.b_col;
  } else {
    return g.b.plain() + j * g.b_col;
  }
}

// GemmPath::dots. S: of B, a T or the bits of a bfloat16.
template <class T, class S, int Rows>
void run_dots(const GemmCall<T>& g, std::int64_t i, std::int64_t first, std::int64_t last) {
  constexpr int cols = Rows <= 2 ? 4 : 3;
  Block<T, S> block{g.k, g.a.plain() + i * g.a_row, g.a_row, 1, nullptr, 1, nullptr, g.ldc, 0, {}};
  std::int64_t j = first;
  const auto set = [&] {
    block.b = column_of_b<S>(g, j);
    block.c = g.c.plain() + i * g.ldc + j;
    block.epilogue = epilogue_of(g, true, true, i, j);
  };
  for (; j + cols <= last; j += cols) {
    set();
    dots<T, Rows, cols>(block, g.b_col);
  }
  for (; j < last; ++j) {
    set();
    dots<T, Rows, 1>(block, g.b_col);
  }
}

// Columns that stay in the first cache for all rows.
constexpr std::int64_t dots_together = 12;

template <class T, class S = T>
void run_all_dots(const GemmCall<T>& g) {
  const std::int64_t together = g.m <= 4 ? g.n : dots_together;
  for (std::int64_t j = 0; j < g.n; j += together) {
    const std::int64_t end = min_of(g.n, j + together);
    std::int64_t i = 0;
    for (; i + 4 <= g.m; i += 4) run_dots<T, S, 4>(g, i, j, end);
    if (g.m - i == 3) run_dots<T, S, 3>(g, i, j, end);
    if (g.m - i == 2) run_dots<T, S, 2>(g, i, j, end);
    if (g.m - i == 1) run_dots<T, S, 1>(g, i, j, end);
  }
}

// Half a strip, which the heads of attention have: passes over B vector by vector take longer.
template <class T, int Vectors>
inline constexpr std::int64_t half_strip = Vectors >= 8 ? Vectors / 2 * lanes<T> : 0;

// Rows from i on and `width` columns from j on: a strip, half of one, or the last vector of all.
template <class T, class S, int Rows, int Vectors>
void run_strip(const GemmCall<T>& g, std::int64_t i, std::int64_t j, std::int64_t width,
               NextFactors& ahead) {
  Block<T, S> block{
      g.k,     g.a.plain() + i * g.a_row,   g.a_row, g.a_col, column_of_b<S>(g, j),
      g.b_row, g.c.plain() + i * g.ldc + j, g.ldc,   0,       epilogue_of(g, true, true, i, j)};
  if (width == Vectors * lanes<T>) {
    return micro<T, Rows, Vectors, Edge::whole, false, false, S>(block, ahead);
  }
  if constexpr (half_strip < T, Vectors >> 0) {
    if (width == half_strip<T, Vectors>) {
      return micro<T, Rows, Vectors / 2, Edge::whole, false, false, S>(block, ahead);
    }
  }
  block.last = width;
  pick_wide<T, Rows, 1, S>(width < lanes<T>)(block, ahead);
}

// GemmPath::few_rows, in groups of Rows.
template <class T, int Rows, int Vectors, class S = T>
void run_wide(const GemmCall<T>& g) {
  constexpr std::int64_t cols = Vectors * lanes<T>, size = sizeof(S);
  const bool far = g.k * g.n * size > last_cache;
  for (std::int64_t j = 0; j < g.n;) {
    const std::int64_t left = g.n - j;
    NextFactors ahead;
    if (far && left > cols) {
      ahead.b =
          PrefetchAhead::matrix(column_of_b<S>(g, j + cols), size, g.k, min_of(left - cols, cols),
                                g.b_row, 1, PrefetchAhead::steps(g.k));
    }
    constexpr std::int64_t half = half_strip<T, Vectors>;
    const std::int64_t fitting = half > 0 && left >= half ? half : min_of(left, lanes<T>);
    const std::int64_t width = left >= cols ? cols : fitting;
    std::int64_t i = 0;
    for (; i + Rows <= g.m; i += Rows) run_strip<T, S, Rows, Vectors>(g, i, j, width, ahead);
    if (g.m - i == 2) run_strip<T, S, 2, Vectors>(g, i, j, width, ahead);
    if (g.m - i == 1) run_strip<T, S, 1, Vectors>(g, i, j, width, ahead);
    j += width;
  }
}

// Vectors of a row of C that sum products with a widened B at once.
inline constexpr int widest = has_short_vectors ? 8 : 16;

// Product with a B of bfloat16. The elements of B are widened as they are read.
void run_widened(const GemmCall<float>& g) {
  if (g.b_col != 1) return run_all_dots<float, std::uint16_t>(g);
  if (g.m == 1) return run_wide<float, 1, widest, std::uint16_t>(g);
  if (g.m == 2) return run_wide<float, 2, 4, std::uint16_t>(g);
  run_wide<float, 3, 3, std::uint16_t>(g);
}

template <class T>
static void run_few_rows(const GemmCall<T>& g) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (g.b.is_bf16()) return run_widened(g);
  }
  if (g.b_col != 1) return run_all_dots(g);
  if (g.m == 1) return run_wide<T, 1, 8>(g);
  if (g.m == 2) return run_wide<T, 2, 4>(g);
  run_wide<T, 3, 3>(g);
}

}  // namespace ondine::math::ONDINE_ISA
