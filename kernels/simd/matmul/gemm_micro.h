// Register blocks of a matrix product.
#pragma once

#include <type_traits>

#include "kernels/simd/matmul/activation.h"
#include "kernels/simd/matmul/chunks.h"
#include "kernels/simd/matmul/gemm_table.h"
#include "kernels/simd/matmul/lane_products.h"
#include "kernels/simd/matmul/prefetch_ahead.h"
#include "kernels/simd/vector/machine.h"
#include "kernels/simd/vector/pairs_bf16.h"
#include "kernels/simd/vector/simd.h"
#include "kernels/simd/vector/widened.h"

namespace ondine::math::ONDINE_ISA {

inline constexpr int max_rows = BlockSizes{12, 6, 12, 5}.of_machine();
// Largest number of rows of a block whose rows of A are read one by one: with products by lanes the
// factors need registers too.
inline constexpr int max_separate_rows = has_lane_products ? 10 : max_rows;
inline constexpr int panel_vectors = 2;
template <class T>
inline constexpr std::int64_t panel = panel_vectors* lanes<T>;

// The last vector of a block's rows: whole, only `last` elements of B and C there, or only of C.
enum class Edge { whole, masked, padded };

// Last steps of a block of C; pointers are those of the block.
template <class T>
struct Epilogue {
  T alpha, beta;
  const T* col_bias;
  const T* row_bias;
  Activation activation;
  const T* addend;  // what beta multiplies, laid out like C; C when null
};

// S: of B, a T or the bits of a bfloat16.
template <class T, class S = T>
struct Block {
  std::int64_t k;
  const T* a;
  std::int64_t a_row, a_col;
  const S* b;
  std::int64_t b_row;
  T* c;
  std::int64_t ldc;
  std::int64_t last;  // columns of the last vector, where not all
  Epilogue<T> epilogue;
  T* keep = nullptr;  // where to pack the panel of B, if so
  // Where results go as bfloat16, instead of C: for kernels that may round them.
  std::uint16_t* bf16 = nullptr;
  // Rows of C to prefetch before every PrefetchAhead::terms terms.
  std::int64_t rows_each = max_rows;
};

// A matrix of this size or larger is prefetched: it may have left the caches.
inline constexpr std::int64_t far_bytes = std::int64_t{128} << 10;

// Rows of C that a register block of k terms prefetches at a time: all within three quarters of its
// terms, or at once where C stays in the caches.
template <class T>
ONDINE_INLINE std::int64_t c_rows_each(const GemmCall<T>& g, std::int64_t k) {
  const bool far = !has_short_vectors && g.m * g.n * std::int64_t{sizeof(T)} >= far_bytes;
  if (!far) return max_rows;
  return divide_up(4 * PrefetchAhead::terms * max_rows, 3 * k);
}

// Prefetches the next rows of C after the first `fetched` ones, and of what is added to it, into
// the second cache: rows 4 kB apart share a set of the first. All rows at once would occupy the
// buffers that loads of A and B need.
template <class T, int Rows, int Vectors, bool MayRound = false, class S>
ONDINE_INLINE void prefetch_c(const Block<T, S>& block, std::int64_t& fetched) {
  const T* const addend = block.epilogue.addend;
  const std::int64_t until = min_of(fetched + block.rows_each, Rows);
  if (MayRound && block.bf16 != nullptr && !addend) {
    for (; fetched < until; ++fetched) {
      __builtin_prefetch(block.bf16 + fetched * block.ldc, 1, 2);
    }
    return;
  }
  for (; fetched < until; ++fetched) {
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) {
      if (!MayRound || block.bf16 == nullptr) {
        __builtin_prefetch(block.c + fetched * block.ldc + v * lanes<T>, 1, 2);
      }
      if (addend) __builtin_prefetch(addend + fetched * block.ldc + v * lanes<T>, 0, 2);
    }
  }
}

// The uncommon part of finishing, on a block that was stored to memory: one copy for all shapes.
template <class T, bool MayRound = false, class S>
static __attribute__((noinline)) void finish_stored(const T* acc, std::int64_t rows,
                                                    std::int64_t vectors, std::int64_t cols,
                                                    const Block<T, S>& block) {
  constexpr int L = lanes<T>;
  const Epilogue<T>& f = block.epilogue;
  for (std::int64_t i = 0; i < rows; ++i) {
    T* const c = block.c + i * block.ldc;
    const T* const from = f.addend ? f.addend + i * block.ldc : c;
    for (std::int64_t j = 0; j < cols; j += L) {
      const std::int64_t left = cols - j;
      Vec<T> r = load(acc + i * vectors * L + j) * f.alpha;
      if (f.beta != 0) r += f.beta * (left < L ? load_n(from + j, left) : load(from + j));
      if (f.col_bias) r += left < L ? load_n(f.col_bias + j, left) : load(f.col_bias + j);
      if (f.row_bias) r += f.row_bias[i];
      r = activate<T>(r, f.activation);
      if constexpr (MayRound) {
        if (block.bf16 != nullptr) {
          store_rounded_n(block.bf16 + i * block.ldc + j, r, left < L ? left : L);
          continue;
        }
      }
      if (left < L) {
        store_n(c + j, r, left);
      } else {
        store(c + j, r);
      }
    }
  }
}

// Sums begin with biases where nothing multiplies the sums or is added before: what adds biases
// later takes as long as a term of k. Returns whether they have them.
template <class T, int Rows, int Vectors, Edge E>
ONDINE_INLINE bool begin_block(Vec<T> (&acc)[Rows][Vectors], const Block<T>& block) {
  constexpr int L = lanes<T>;
  const Epilogue<T>& f = block.epilogue;
  const bool begins = f.alpha == 1 && f.beta == 0 && !(f.row_bias && f.col_bias);
  const bool by_rows = begins && f.row_bias, by_columns = begins && f.col_bias;
#pragma GCC unroll 16
  for (int v = 0; v < Vectors; ++v) {
    Vec<T> column{};
    if (by_columns) {
      const T* const from = f.col_bias + v * L;
      column = E != Edge::whole && v == Vectors - 1 ? load_n(from, block.last) : load(from);
    }
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) acc[i][v] = column;
  }
  if (by_rows) {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) acc[i][v] = broadcast(f.row_bias[i]);
    }
  }
  return begins;
}

// `has_biases`: the sums began with them.
template <class T, int Rows, int Vectors, Edge E, bool MayRound = false, class S>
ONDINE_INLINE void finish_block(Vec<T> (&acc)[Rows][Vectors], const Block<T, S>& block,
                                bool has_biases = false) {
  constexpr int L = lanes<T>;
  const Epilogue<T>& f = block.epilogue;
  const bool rare = f.activation != Activation::none && f.beta != 0;
  if ((E != Edge::whole && !has_mask_registers) || rare) {
    T stored[Rows * Vectors * L];
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) store(stored + (i * Vectors + v) * L, acc[i][v]);
    }
    const std::int64_t cols = E == Edge::whole ? Vectors * L : (Vectors - 1) * L + block.last;
    if (has_biases) {
      Block<T, S> rest = block;
      rest.epilogue.row_bias = rest.epilogue.col_bias = nullptr;
      return finish_stored<T, MayRound>(stored, Rows, Vectors, cols, rest);
    }
    return finish_stored<T, MayRound>(stored, Rows, Vectors, cols, block);
  }
  constexpr bool part = E != Edge::whole;
  const auto get = [&](const T* p, int v) __attribute__((always_inline)) {
    return part && v == Vectors - 1 ? load_n(p + v * L, block.last) : load(p + v * L);
  };
  const auto each = [&](auto&& change) __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) change(acc[i][v], i, v);
    }
  };
  if (f.alpha != 1)
    each([&](Vec<T> & r, int, int) __attribute__((always_inline)) { r *= f.alpha; });
  if (f.beta != 0) {
    const T* const from = f.addend ? f.addend : block.c;
    each([&](Vec<T> & r, int i, int v)
             __attribute__((always_inline)) { r += f.beta * get(from + i * block.ldc, v); });
  }
  if (f.col_bias && !has_biases) {
    each([&](Vec<T> & r, int, int v) __attribute__((always_inline)) { r += get(f.col_bias, v); });
  }
  if (f.row_bias && !has_biases) {
    each([&](Vec<T> & r, int i, int) __attribute__((always_inline)) { r += f.row_bias[i]; });
  }
  if (f.activation != Activation::none) {
    each([&](Vec<T> & r, int, int) __attribute__((always_inline)) { r = at_least(r, T{0}); });
    if (f.activation == Activation::relu6) {
      each([&](Vec<T> & r, int, int) __attribute__((always_inline)) { r = at_most(r, T{6}); });
    }
  }
  // Read once: as far as the compiler knows, masked stores change anything.
  T* const c = block.c;
  const std::int64_t ldc = block.ldc, last = block.last;
  if constexpr (MayRound) {
    if (std::uint16_t* const bf16 = block.bf16) {
      if constexpr (Vectors == 2 && !part) {
#pragma GCC unroll 16
        for (int i = 0; i < Rows; ++i) store_rounded(bf16 + i * ldc, acc[i][0], acc[i][1]);
        return;
      }
      return each([&](const Vec<T>& r, int i, int v) __attribute__((always_inline)) {
        std::uint16_t* const to = bf16 + i * ldc + v * L;
        if (part && v == Vectors - 1) {
          store_rounded_n(to, r, last);
        } else {
          store_rounded(to, r);
        }
      });
    }
  }
  each([&](const Vec<T>& r, int i, int v) __attribute__((always_inline)) {
    T* const to = c + i * ldc + v * L;
    if (part && v == Vectors - 1) {
      store_n(to, r, last);
    } else {
      store(to, r);
    }
  });
}

// Rows x (Vectors lanes) elements of C. UnitRow: a_row is 1. Keep: what is read of B, in rows far
// apart, is packed on the way; the stores are hidden behind the multiplications. Takes
// ahead.steps(block.k) steps of `ahead`.
template <class T, int Rows, int Vectors, Edge E, bool UnitRow, bool Keep = false, class S = T>
static __attribute__((aligned(64))) void micro(const Block<T, S>& block, NextFactors& ahead) {
  static_assert(!Keep || (E == Edge::whole && std::is_same_v<S, T>));
  constexpr int L = lanes<T>;
  Vec<T> acc[Rows][Vectors] = {};
  const T* a = block.a;
  const S* b = block.b;
  T* keep = block.keep;
  const std::int64_t a_row = UnitRow ? 1 : block.a_row;
  const std::int64_t a_col = block.a_col;
  const std::int64_t b_row = block.b_row;
  constexpr std::int64_t ahead_rows = 24;
  std::int64_t fetched = 0;
  for (std::int64_t left = block.k; left > 0;) {
    prefetch_c<T, Rows, Vectors>(block, fetched);
    std::int64_t terms = left;
    if (fetched < Rows || !ahead.is_done()) {
      ahead.step();
      terms = min_of(terms, PrefetchAhead::terms);
    }
    left -= terms;
    for (; terms > 0; --terms) {
      Vec<T> row[Vectors];
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) {
        row[v] = E == Edge::masked && v == Vectors - 1 ? load_widened_n(b + v * L, block.last)
                                                       : load_widened(b + v * L);
        if constexpr (Keep) {
          __builtin_prefetch(b + ahead_rows * b_row + v * L);
          store(keep + v * L, row[v]);
        }
      }
      if constexpr (Keep) keep += Vectors * L;
      if constexpr (UnitRow) {
        add_products<T, Rows, Vectors>(acc, a, row);
      } else {
        add_separate_products<T, Rows, Vectors>(acc, a, a_row, row);
      }
      a += a_col;
      b += b_row;
    }
  }
  finish_block<T, Rows, Vectors, E>(acc, block);
}

// C[i, j] = dot(row i of A, row j of B), both contiguous over k.
template <class T, int Rows, int Cols, class S = T>
static void dots(const Block<T, S>& block, std::int64_t b_col) {
  constexpr int L = lanes<T>;
  Vec<T> acc[Rows][Cols] = {};
  const auto step = [&](std::int64_t p, auto&& get) __attribute__((always_inline)) {
    Vec<T> b[Cols];
#pragma GCC unroll 16
    for (int j = 0; j < Cols; ++j) b[j] = get(block.b + j * b_col + p);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const Vec<T> a = get(block.a + i * block.a_row + p);
#pragma GCC unroll 16
      for (int j = 0; j < Cols; ++j) acc[i][j] += a * b[j];
    }
  };
  std::int64_t p = 0;
  for (; p + L <= block.k; p += L) {
    step(
        p, [](const auto* s) __attribute__((always_inline)) { return load_widened(s); });
  }
  if (p < block.k) {
    const std::int64_t rest = block.k - p;
    step(
        p, [rest](const auto* s)
               __attribute__((always_inline)) { return load_widened_n(s, rest); });
  }
  const Epilogue<T>& f = block.epilogue;
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < Cols; ++j) {
      T* const c = block.c + i * block.ldc + j;
      T r = lane_sum<T>(acc[i][j]) * f.alpha;
      if (f.beta != 0) r += f.beta * (f.addend ? f.addend[i * block.ldc + j] : *c);
      if (f.col_bias) r += f.col_bias[j];
      if (f.row_bias) r += f.row_bias[i];
      *c = activate_one(r, f.activation);
    }
  }
}

}  // namespace ondine::math::ONDINE_ISA
