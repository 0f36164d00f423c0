// One block of a product on one thread: panels of B, packed where they are used first, and the
// register blocks over them. What is read next is prefetched between multiplications.
#pragma once

#include "kernels/simd/matmul/chunks.h"
#include "kernels/simd/matmul/gemm_pack.h"
#include "kernels/simd/matmul/gemm_pick.h"

namespace ondine::math::ONDINE_ISA {

// A panel of B and a block of A fit into a first cache of 48 kB, the other blocks together into a
// second one of 1 MB.
inline constexpr std::int64_t second_cache = std::int64_t{1} << 20;
// With short vectors a prefetch takes more of the time: of what is packed next, only rows that
// hardware prefetchers do not follow are prefetched.
inline constexpr std::int64_t far_row = 2048;  // bytes from one to the next
template <class T>
inline constexpr std::int64_t group_n = 4 * panel<T>;  // columns of B that are prefetched together

template <class T>
ONDINE_INLINE Epilogue<T> epilogue_of(const GemmCall<T>& g, bool first, bool last, std::int64_t i,
                                      std::int64_t j) {
  return {g.alpha,
          first ? g.beta : T{1},
          last && g.col_bias ? g.col_bias + j : nullptr,
          last && g.row_bias ? g.row_bias + i : nullptr,
          last ? g.activation : Activation::none,
          first && g.addend ? g.addend + i * g.ldc + j : nullptr};
}

// `packed`: terms of the panels, of which these are some.
template <class T>
ONDINE_INLINE void pack_b_block(T* panels, const GemmCall<T>& g, std::int64_t p, std::int64_t kc,
                                std::int64_t j, std::int64_t nc, std::int64_t packed) {
  constexpr std::int64_t nr = panel<T>;
  const T* const b = g.b.plain() + p * g.b_row + j * g.b_col;
  if (g.b_col == 1) return pack_columns(panels, b, g.b_row, nc, nr, kc, nr * packed);
  for (std::int64_t jj = 0; jj < nc; jj += nr) {
    pack_rows(panels + jj * packed, b + jj * g.b_col, g.b_col, min_of(nr, nc - jj), nr, kc, false);
  }
}

// Rows [i, i + mc) and columns [j, j + nc) of C, with [p, p + kc) of k.
struct GemmBlock {
  std::int64_t i, mc, j, nc, p, kc;
  std::int64_t b_step;  // elements from one packed column of B to the next
  bool fresh;           // B is to be packed
};

// The columns of B from j on of this block, or the first ones of the next block of k.
template <class T>
ONDINE_INLINE PrefetchAhead next_of_b(const GemmCall<T>& g, const GemmBlocking& cut,
                                      const T* b_panels, const GemmBlock& at, std::int64_t j,
                                      std::int64_t steps) {
  constexpr std::int64_t nr = panel<T>, size = sizeof(T);
  const bool more = j < at.nc;
  const std::int64_t cols = min_of(group_n<T>, more ? at.nc - j : at.nc);
  if (g.b_packed || (cut.pack_b && !at.fresh)) {
    if (!more) return {};
    const std::int64_t step = g.b_packed ? g.k : at.b_step;  // of a column
    const T* const next =
        g.b_packed ? g.b.plain() + (at.j + j) * step + at.p * nr : b_panels + j * step;
    return {next, divide_up(cols, nr), at.kc * nr * size, nr * step * size, steps};
  }
  const std::int64_t p = more ? at.p : at.p + at.kc;
  const T* const next = g.b.plain() + p * g.b_row + (at.j + (more ? j : 0)) * g.b_col;
  return PrefetchAhead::matrix(next, size, min_of(at.kc, g.k - p), cols, g.b_row, g.b_col, steps);
}

// The rows of a large A that is read in place, after those of the first register block.
template <class T>
ONDINE_INLINE PrefetchAhead rows_of_a(const GemmCall<T>& g, const GemmBlocking& cut,
                                      const GemmBlock& at) {
  constexpr std::int64_t size = sizeof(T);
  if (cut.pack_a || g.a_col != 1 || g.m * g.k * size < far_bytes) return {};
  if (at.mc <= cut.mr) return {};
  const T* const from = g.a.plain() + (at.i + cut.mr) * g.a_row + at.p;
  return PrefetchAhead::matrix(from, size, at.mc - cut.mr, at.kc, g.a_row, 1,
                               divide_up(at.mc - cut.mr, cut.mr) * PrefetchAhead::steps(at.kc));
}

// Fields that the register blocks of a panel of B share; move_to sets the rest. The panel begins at
// column jj of the block; `raw` is where it lies in B.
template <class T>
ONDINE_INLINE Block<T> register_block(const GemmCall<T>& g, const GemmBlocking& cut,
                                      const GemmBlock& at, std::int64_t jj, const T* raw,
                                      T* packed) {
  const std::int64_t cols = min_of(panel<T>, at.nc - jj);
  Block<T> block;
  block.k = at.kc;
  block.ldc = g.ldc;
  block.a_row = cut.pack_a ? 1 : g.a_row;
  block.a_col = cut.pack_a ? cut.mr : g.a_col;
  block.b = cut.pack_b ? packed : raw;
  block.b_row = cut.pack_b || g.b_packed ? panel<T> : g.b_row;
  block.keep = packed;
  block.rows_each = c_rows_each(g, at.kc);
  block.last = cols > lanes<T> ? cols - lanes<T> : cols;
  block.epilogue = epilogue_of(g, at.p == 0, at.p + at.kc == g.k, 0, at.j + jj);
  return block;
}

template <class T>
ONDINE_INLINE Micro<T> kernel_of(std::int64_t rows, std::int64_t cols, bool unit_row) {
  const bool tail = cols % lanes<T> != 0;
  const int count = static_cast<int>(rows);
  return cols > lanes<T> ? pick<T, 2>(count, tail, unit_row) : pick<T, 1>(count, tail, unit_row);
}

// Sets what depends on the rows, which begin at ii.
template <class T>
ONDINE_INLINE void move_to(Block<T>& block, const GemmCall<T>& g, const GemmBlocking& cut,
                           const T* a_panels, const GemmBlock& at, std::int64_t ii,
                           std::int64_t jj) {
  const std::int64_t i = at.i + ii;
  const std::int64_t c = i * g.ldc + at.j + jj;
  block.a = cut.pack_a ? a_panels + ii * at.kc : g.a.plain() + i * g.a_row + at.p * g.a_col;
  block.c = g.c.plain() + c;
  if (block.epilogue.row_bias) block.epilogue.row_bias = g.row_bias + i;
  if (block.epilogue.addend) block.epilogue.addend = g.addend + c;
}

template <class T>
ONDINE_INLINE const T* raw_panel(const GemmCall<T>& g, const GemmBlock& at, std::int64_t jj) {
  return g.b_packed ? g.b.plain() + (at.j + jj) * g.k + at.p * panel<T>
                    : g.b.plain() + at.p * g.b_row + (at.j + jj) * g.b_col;
}

// Whether B is prefetched. For few rows that costs more than it saves, unless B is too large for
// the second cache; with long vectors, register blocks that pack a row-major B prefetch it
// themselves.
template <class T>
ONDINE_INLINE bool prefetches_b(const GemmCall<T>& g, const GemmBlocking& cut,
                                const GemmBlock& at) {
  const std::int64_t bytes = g.k * g.n * std::int64_t{sizeof(T)};
  const bool many = at.mc > 6 * cut.mr;
  if (has_short_vectors) return bytes > second_cache;
  if (many && at.fresh) return bytes > far_bytes;
  return bytes > second_cache && (many || g.b_col != 1 || !cut.pack_b);
}

// One panel of B after the other, each with all rows.
template <class T>
ONDINE_INLINE void run_block(const GemmCall<T>& g, const GemmBlocking& cut, T* b_panels,
                             const T* a_panels, const GemmBlock& at, NextFactors& ahead) {
  constexpr std::int64_t nr = panel<T>;
  const bool far = prefetches_b(g, cut, at);
  const std::int64_t steps =
      divide_up(at.mc, cut.mr) * (group_n<T> / nr) * PrefetchAhead::steps(at.kc);
  if (at.i == 0 && at.j == 0 && at.p == 0 && g.next.rows > 0) {
    ahead.b = {g.next, divide_up(at.mc, cut.mr) * PrefetchAhead::steps(at.kc)};
  }
  for (std::int64_t jj = 0; jj < at.nc; jj += nr) {
    const std::int64_t cols = min_of(nr, at.nc - jj);
    const T* const raw = raw_panel(g, at, jj);
    T* const packed = b_panels + jj * at.b_step;
    bool keep = at.fresh && g.b_col == 1 && cols == nr && min_of(at.mc, cut.mr) >= least_keeping;
    if (at.fresh && !keep) pack_b_block(packed, g, at.p, at.kc, at.j + jj, cols, at.kc);
    Block<T> block = register_block(g, cut, at, jj, raw, packed);
    if (far && jj % group_n<T> == 0) {
      ahead.b = next_of_b(g, cut, b_panels, at, jj + group_n<T>, steps);
    } else if (jj == 0 && ahead.b.is_done()) {
      ahead.b = rows_of_a(g, cut, at);
    }
    const bool unit_row = block.a_row == 1;
    const Micro<T> whole = kernel_of<T>(cut.mr, cols, unit_row);
    for (std::int64_t ii = 0; ii < at.mc; ii += cut.mr) {
      const std::int64_t rows = min_of(cut.mr, at.mc - ii);
      move_to(block, g, cut, a_panels, at, ii, jj);
      if (keep) {
        Block<T> first = block;
        first.b = raw;
        first.b_row = g.b_row;
        const int count = static_cast<int>(rows);
        (unit_row ? pick_keeping<T, true>(count) : pick_keeping<T, false>(count))(first, ahead);
        keep = false;
      } else {
        (rows == cut.mr ? whole : kernel_of<T>(rows, cols, unit_row))(block, ahead);
      }
    }
  }
}

// How many panels of B are multiplied by a few rows before the next rows follow. Where k is small
// and C is large, more than 1: prefetchers do not follow many rows of C that are written in turns,
// so each row is written in longer runs. The panels stay in the first cache.
inline constexpr std::int64_t most_together = 16;
inline constexpr std::int64_t together_bytes = std::int64_t{16} << 10;
inline constexpr std::int64_t least_run = 256;  // bytes of a row
template <class T>
ONDINE_INLINE std::int64_t panels_together(const GemmCall<T>& g, const GemmBlocking& cut,
                                           const GemmBlock& at) {
  constexpr std::int64_t size = sizeof(T);
  if (g.m <= g.k || g.m * g.n * size <= second_cache || at.mc <= cut.mr) return 1;
  const std::int64_t fit = together_bytes / (panel<T> * at.kc * size);
  const std::int64_t count = min_of(fit, most_together);
  return count * panel<T> * size >= least_run ? count : 1;
}

// Packs `together` panels of B, then multiplies all of them by the first rows, the next rows, ...
template <class T>
static void run_panels_together(const GemmCall<T>& g, const GemmBlocking& cut, T* b_panels,
                                const T* a_panels, const GemmBlock& at, std::int64_t together,
                                NextFactors& ahead) {
  constexpr std::int64_t nr = panel<T>;
  Block<T> blocks[most_together];
  for (std::int64_t begin = 0; begin < at.nc; begin += together * nr) {
    const std::int64_t end = min_of(at.nc, begin + together * nr);
    for (std::int64_t jj = begin; jj < end; jj += nr) {
      T* const packed = b_panels + (at.b_step > 0 ? jj * at.b_step : (jj - begin) * at.kc);
      if (at.fresh) {
        pack_b_block(packed, g, at.p, at.kc, at.j + jj, min_of(nr, at.nc - jj), at.kc);
      }
      blocks[(jj - begin) / nr] = register_block(g, cut, at, jj, raw_panel(g, at, jj), packed);
    }
    for (std::int64_t ii = 0; ii < at.mc; ii += cut.mr) {
      const std::int64_t rows = min_of(cut.mr, at.mc - ii);
      const bool unit_row = blocks[0].a_row == 1;
      const Micro<T> whole = kernel_of<T>(rows, nr, unit_row);
      for (std::int64_t jj = begin; jj < end; jj += nr) {
        Block<T>& block = blocks[(jj - begin) / nr];
        const std::int64_t cols = min_of(nr, at.nc - jj);
        move_to(block, g, cut, a_panels, at, ii, jj);
        (cols == nr ? whole : kernel_of<T>(rows, cols, unit_row))(block, ahead);
      }
    }
  }
}

}  // namespace ondine::math::ONDINE_ISA
