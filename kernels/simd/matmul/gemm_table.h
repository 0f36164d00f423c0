// Matrix products on one thread.
#pragma once

#include <cstdint>

#include "kernels/simd/activation.h"
#include "kernels/simd/elements.h"

namespace ondine::math {

// Rows in memory that are wanted soon.
struct RowsAhead {
  const void* first = nullptr;
  std::int64_t rows = 0, bytes = 0, stride = 0;  // bytes of a row, and from one to the next
};

// One product on one thread. Element (i, p) of A is a[i a_row + p a_col]; of B (p, j)
// b[p b_row + j b_col]; of the two strides of a matrix one is 1. Elements may be bfloat16: those of
// A for kernels of bfloat16 alone; of B for these and where GemmKernels::widens_b; of C where
// GemmKernels::rounds_result, and then beta multiplies the addend. Planning a call reads how its
// elements are stored, but no memory.
template <class T>
struct GemmCall {
  std::int64_t m, n, k;
  Elements<const T> a;
  std::int64_t a_row, a_col;
  Elements<const T> b;
  std::int64_t b_row, b_col;
  // B is packed already: panels of `nr` columns, each k x nr, the last filled up with zeros.
  bool b_packed;
  Elements<T> c;
  std::int64_t ldc;
  T alpha, beta;
  const T* col_bias;
  const T* row_bias;
  Activation activation;
  const T* addend = nullptr;  // what beta multiplies; C when null
  // For kernels of bfloat16 alone: A holds pairs of them in the place of a T, elements 2p and 2p +
  // 1 of a row. a_row counts pairs; a_col is 1; an odd k has a zero after it.
  bool a_paired = false;
  // The terms of a packed B of which this product (for kernels of bfloat16 alone) has some, or of
  // the panels of which pack_b writes some; 0: k.
  std::int64_t packed_k = 0;
  // For kernels of bfloat16 alone, where they say `takes_pairs`: A and B hold pairs of elements 2p
  // and 2p + 1 of k in the place of a T. a_row and b_col are 1; a_col and b_row count from a pair
  // to the next; k is even.
  bool pairs = false;
  // Where more than 0: sums over k are cut into blocks of so many terms, GemmBlocking::kc of a
  // product of which this is a part. C then has the bits of that product.
  std::int64_t block_k = 0;
  // Whether the tiles of split factors compute the product, in float32. GemmKernels::splits decides
  // it on the whole product of which this is a part.
  bool splits = false;
  // Memory that the caller reads or writes next. It is prefetched meanwhile, if the product does
  // not prefetch operands of its own.
  RowsAhead next = {};
};

// How a product is computed. Follows from its sizes, its strides and whether B is packed.
enum class GemmPath : std::uint8_t {
  no_product,   // an operand has no elements: beta, biases and activation alone
  few_rows,     // few rows and B stored by rows: wide blocks, nothing packed
  dots,         // few rows and B stored by columns: dot products, nothing packed
  transposed,   // few rows and B stored by columns: C^T, with B read in place; bits of `blocked`
  blocked,      // anything else
  split,        // A and B split into three bfloat16 each while they are packed
  blocked_bf16  // A and B rounded to bfloat16 while they are packed
};
struct GemmBlocking {
  GemmPath path = GemmPath::no_product;
  bool pack_a = false, pack_b = false;
  std::int64_t mr = 0, mc = 0, kc = 0;  // rows of a micro kernel and of a block, terms of a block
};

template <class T>
struct GemmKernels {
  std::int64_t nr;                                    // width of a panel of B
  GemmBlocking (*blocking)(const GemmCall<T>& call);  // of an alpha other than 0
  // What `run` needs; grows with m, n and k. Only shapes and strides of the call are read.
  std::int64_t (*scratch_bytes)(const GemmCall<T>& call);
  void (*run)(const GemmCall<T>& call, void* scratch);
  // `run` of a call whose blocking is known.
  void (*run_blocking)(const GemmCall<T>& call, const GemmBlocking& blocking, void* scratch);
  // All of B (n, k and its strides are read) in panels, as b_packed wants them; writes up to a
  // vector past them, but where b_col is 1.
  void (*pack_b)(const GemmCall<T>& call, T* panels);
  // Rounds A, of which a_col is 1, to rows that a_paired wants, `row` elements apart. Null where
  // products read A as it is.
  void (*round_a)(const GemmCall<T>& call, T* rounded, std::int64_t row) = nullptr;
  bool takes_pairs = false;  // calls with `pairs`
  // Whether the first block of k adds the biases; else the last one does.
  bool biases_first = false;
  // Terms of k that are multiplied together. A last group of fewer takes longer than a whole one.
  std::int64_t unit_k = 1;
  std::int64_t terms_in_packed = 1;  // of k that an element of a packed B holds
  // GemmCall::block_k for the parts of this product; 0: as each part would be cut. Null: always 0.
  std::int64_t (*whole_block_k)(const GemmCall<T>& call) = nullptr;
  // Whether it can round the results of a call to a C of bfloat16. Null: never.
  bool (*rounds_result)(const GemmCall<T>& call) = nullptr;
  // Whether the product reads a B of bfloat16 where it lies and widens it, with the results that a
  // widened copy would give up to the order of sums. Null: never.
  bool (*widens_b)(const GemmCall<T>& call) = nullptr;
  // Whether a product of m x k by k x n elements takes less time with split factors. Null: never.
  bool (*splits)(std::int64_t m, std::int64_t n, std::int64_t k) = nullptr;
};

}  // namespace ondine::math
