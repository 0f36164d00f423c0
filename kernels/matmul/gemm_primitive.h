// Matrix products. Row-major; float and double: the primitive of MatMul, MatMulT, Gemm,
// GemmActivation, GemmUpdate and Einsum, and inside of attention, convolution and recurrence.
//
// Implementations:
//   few_rows, dots, transposed, blocked, no_product
//                 any product by tiles, after how the kernel computes a tile (GemmPath)
//   split         large products of float32 where the processor has AMX, in float32's precision
//                 (kernels/simd/matmul/split_factors.h)
//   packed_gemm   B packed once for many products (packed_gemm.h)
//   thin_sgd      w - rate A B of up to four terms (optimizer_primitive.h), for GemmUpdate
//   int8_vnni, int8_pairs
//                 8-bit integers, exact (kernels/simd/matmul/int8_gemm_table.h), for Int8MatMul
//   integer_gemm  32- and 64-bit integers, by Eigen (integer_gemm.h)
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/parallel.h"
#include "kernels/common/workspace.h"
#include "kernels/simd/isa.h"
#include "kernels/simd/matmul/gemm_table.h"

namespace ondine::math {

// op(A) is m x k, op(B) is k x n, C is m x n. Leading dimensions of 0 mean dense matrices.
struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool trans_a = false;  // A is stored k x m
  bool trans_b = false;  // B is stored n x k
  std::int64_t lda = 0;
  std::int64_t ldb = 0;
  std::int64_t ldc = 0;
  // How elements are stored. A and B in bfloat16: see GemmPrimitive::takes_bf16, of B alone
  // widens_b; C: rounds_result.
  Storage a_stored = Storage::plain;
  Storage b_stored = Storage::plain;
  Storage c_stored = Storage::plain;
  // For a part of a product, some terms of all of k: GemmPrimitive::block_k of the whole.
  std::int64_t block_k = 0;
  // For a part that has some rows or columns: those of the whole, so that it is computed in the
  // same way. 0: it has all.
  std::int64_t whole_m = 0;
  std::int64_t whole_n = 0;
};

// Products with m, n or k below this keep their precision.
inline constexpr std::int64_t least_rounded = 16;

// `count` products of one shape. Element offsets from the pointers given: i * stride, or, where
// given, offsets_x[i] (broadcast batches). Products must not overlap in C.
struct GemmBatch {
  std::int64_t count = 1;
  std::int64_t stride_a = 0;
  std::int64_t stride_b = 0;
  std::int64_t stride_c = 0;
  const std::int64_t* offsets_a = nullptr;
  const std::int64_t* offsets_b = nullptr;
};

// Which terms of k a product has, where one is computed in parts that follow each other: whole
// blocks of block_k terms (GemmPrimitive), each added to C. The parts take the options of the whole
// and together give its bits.
struct GemmPart {
  bool is_first = true;
  bool is_last = true;
};

// C = activation(alpha op(A) op(B) + beta D + bias). D is C or `addend`, which lies in memory like
// C, in T, and must not overlap it; with beta 0 it is not read. Where C is bfloat16, D is `addend`.
template <class T>
struct GemmOptions {
  T alpha = 1;
  T beta = 0;
  const T* col_bias = nullptr;  // n values, added to every row
  const T* row_bias = nullptr;  // m values, added to every column
  Activation activation = Activation::none;
  const T* addend = nullptr;
  GemmPart part = {};
};

// Elements from a row of an m x k matrix to the next where all of it is rounded to bfloat16 once,
// for several products; 0: it is too large.
std::int64_t rounded_row(std::int64_t m, std::int64_t k);

// A product of known shape. Tiles, packing and the paths of the kernel are decided when it is made.
// Immutable; may run on several threads at once, each with a workspace of its own.
template <class T>
class GemmPrimitive {
 public:
  // Whether the kernels round the factors of the product anyway, so that they may be bfloat16.
  static bool takes_bf16(const GemmShape& shape, const SimdTables& kernels);
  // Whether they read a B of bfloat16 where it lies and widen it, A and C in their own precision.
  static bool widens_b(const GemmShape& shape, const SimdTables& kernels);
  // Whether they can round its results to bfloat16 while they store them: all of k is one block.
  static bool rounds_result(const GemmShape& shape, const SimdTables& kernels);

  // `threads`: of the pool that will run it. Tiles and workspace depend on it, results do not; a
  // pool of more threads runs it on one.
  GemmPrimitive(const GemmShape& shape, std::int64_t batch_count, int threads,
                const SimdTables& kernels = math::simd_tables());

  std::size_t workspace() const noexcept { return workspace_; }  // bytes
  // batch.count is what the primitive was made for. Error(internal) for operands that are stored in
  // another way than the shape says.
  void run(ThreadPool& pool, const GemmBatch& batch, Elements<const T> a, Elements<const T> b,
           Elements<T> c, const GemmOptions<T>& options, Workspace workspace) const;
  void run(ThreadPool& pool, const GemmBatch& batch, Elements<const T> a, Elements<const T> b,
           Elements<T> c, const GemmOptions<T>& options, void* workspace) const {
    run(pool, batch, a, b, c, options, Workspace{workspace, workspace_});
  }
  // Terms of k that are summed at once (GemmPart). 0: this product cannot be cut into parts.
  std::int64_t block_k() const noexcept { return blockings_[blocking_index(0, 0)].kc; }
  // Whether it splits its factors and reads B as it is given.
  bool splits() const noexcept { return whole_.splits; }
  static bool splits(const GemmShape& shape, const SimdTables& kernels);
  std::string_view name() const noexcept;
  std::string_view isa() const noexcept { return isa_name(*kernels_); }

 private:
  // Tiles of C and products of a batch that one chunk computes. Every element is computed in the
  // same way in any tile, so that their number may depend on that of the threads.
  struct Tiles {
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::int64_t down = 0;
    std::int64_t across = 0;
    std::int64_t grain = 1;

    std::int64_t count() const { return down * across; }
  };
  static Tiles make_tiles(const GemmCall<T>& call, std::int64_t batch_count, int threads);
  // Rows of A in bfloat16 that are read where they lie, as pairs.
  bool reads_pairs() const;
  // Terms of k of which A is rounded once for all tiles, and then the next; 0: tiles round it.
  std::int64_t rounded_terms(std::int64_t batch_count) const;
  void round_a(ThreadPool& pool, Elements<const T> a, std::int64_t terms, T* rounded) const;
  // The first `terms` of k.
  void run_tiles(ThreadPool& pool, const GemmBatch& batch, std::int64_t terms, Elements<const T> a,
                 Elements<const T> b, Elements<T> c, const GemmOptions<T>& options,
                 Workspace workspace) const;
  // The call of the tile in row i and column j of tiles, without pointers.
  GemmCall<T> tile_call(std::int64_t i, std::int64_t j) const;
  // Tiles of the last row and column may be smaller and computed in another way.
  std::size_t blocking_index(std::int64_t i, std::int64_t j) const {
    return (i == tiles_.down - 1 ? 1U : 0U) + (j == tiles_.across - 1 ? 2U : 0U);
  }

  GemmCall<T> whole_{};     // without pointers
  bool is_column_ = false;  // one column computed as one row: C^T = op(B)^T op(A)^T
  Tiles tiles_;
  std::array<GemmBlocking, 4> blockings_;
  const SimdTables* kernels_;
  std::int64_t rounded_terms_ = 0;
  std::int64_t rounded_row_ = 0;   // elements of T from a row of rounded A to the next
  std::int64_t a_row_ = 0;         // of A as it is given
  Storage a_stored_, b_stored_;    // as they are given
  std::int64_t in_pairs_ = 1;      // elements of A as it is given in one of the call
  std::size_t rounded_bytes_ = 0;  // of the workspace, before the slots
  std::size_t slot_bytes_ = 0;
  std::size_t workspace_ = 0;
};

// Products whose shapes follow only from what is being run, as the last block of a sequence: the
// choices of GemmPrimitive are made on each call, without allocating.
template <class T>
std::size_t gemm_workspace(const GemmShape& shape, std::int64_t batch_count, int threads,
                           const SimdTables& kernels = math::simd_tables());

template <class T>
void gemm(ThreadPool& pool, const GemmShape& shape, const GemmBatch& batch, ElementsIn<T> a,
          ElementsIn<T> b, ElementsOut<T> c, const GemmOptions<T>& options, Workspace workspace,
          const SimdTables& kernels = math::simd_tables()) {
  GemmPrimitive<T>(shape, batch.count, pool.threads(), kernels)
      .run(pool, batch, a, b, c, options, workspace);
}

// One product.
template <class T>
void gemm(ThreadPool& pool, const GemmShape& shape, ElementsIn<T> a, ElementsIn<T> b,
          ElementsOut<T> c, const GemmOptions<T>& options, Workspace workspace,
          const SimdTables& kernels = math::simd_tables()) {
  gemm<T>(pool, shape, GemmBatch{}, a, b, c, options, workspace, kernels);
}

}  // namespace ondine::math
