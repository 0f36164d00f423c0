// Attention: Attention and FlexAttention, which are fused into ScaledAttention (ai.ondine),
// LinearAttention with LinearRecurrence, and RotaryEmbedding. This header: the primitive of
// ScaledAttention and its gradient, in float and double, by tiles of queries, so that no matrix of
// all scores is kept.
//
// Implementation:
//   tiled   matrix products and softmax rows of the scores of one tile
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "kernels/matmul/gemm_primitive.h"

namespace ondine::math {

// For each of `count` heads, one after the other in memory: Q queries x head_size, K keys x
// head_size (key_rows) or head_size x keys, V keys x v_head_size, Y queries x v_head_size.
struct AttentionShape {
  std::int64_t count = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t head_size = 0;
  std::int64_t v_head_size = 0;
  bool key_rows = true;
};

// S = scale Q K^T + mask. The mask of head i starts at offsets[i]; its rows lie `row` apart, 0 for
// one row for all queries.
template <class T>
struct AttentionScores {
  T scale = 1;
  const T* mask = nullptr;
  const std::int64_t* offsets = nullptr;
  std::int64_t row = 0;
};

template <class T>
struct AttentionOperands {
  const T* q = nullptr;
  const T* k = nullptr;
  const T* v = nullptr;
};

// Those that are null are not computed.
template <class T>
struct AttentionGradients {
  T* dq = nullptr;
  T* dk = nullptr;
  T* dv = nullptr;
};

// Immutable; may run on several threads at once, each with a workspace of its own.
template <class T>
class AttentionPrimitive {
 public:
  // `threads`: of the pool that will run it. Only the size of the workspace depends on it.
  AttentionPrimitive(const AttentionShape& shape, int threads,
                     const Kernels& kernels = math::kernels());

  std::size_t workspace() const noexcept { return workspace_; }  // bytes, of either direction
  // Y = softmax(S) V
  void run(ThreadPool& pool, const AttentionScores<T>& scores, const AttentionOperands<T>& operands,
           T* y, void* workspace) const;
  // The gradients from dy; scores are recomputed.
  void run_gradient(ThreadPool& pool, const AttentionScores<T>& scores,
                    const AttentionOperands<T>& operands, const T* dy,
                    const AttentionGradients<T>& gradients, void* workspace) const;
  std::string_view name() const noexcept { return "tiled"; }
  std::string_view isa() const noexcept { return isa_name(*kernels_); }

 private:
  // The queries [first, first + rows) of a head.
  struct Tile {
    std::int64_t head, first, rows;
  };
  // Of a tile of so many queries.
  struct TileProducts {
    TileProducts(const AttentionShape& s, std::int64_t rows, const Kernels& kernels);
    std::size_t workspace() const;
    GemmPrimitive<T> scores, y, dv, ds, dq, dk;
  };
  // The last tile of a head may have fewer queries than the others.
  const TileProducts& products_of(const Tile& tile) const {
    return (*products_)[tile.rows == tile_rows_ ? 0 : 1];
  }
  // Scratch memory of a thread: two tiles of scores, then that of its products.
  T* scores_at(std::byte* at) const { return reinterpret_cast<T*>(at); }
  T* derivatives_at(std::byte* at) const { return reinterpret_cast<T*>(at + tile_bytes_); }
  Workspace products_at(std::byte* at) const { return {at + 2 * tile_bytes_, product_bytes_}; }
  std::size_t slot_bytes() const { return 2 * tile_bytes_ + product_bytes_; }

  // softmax(S) of a tile.
  void weights(ThreadPool& pool, const AttentionScores<T>& scores,
               const AttentionOperands<T>& operands, const Tile& tile, std::byte* at) const;
  // Adds to dk and dv, after the first tile of a head, and writes dq.
  void tile_gradient(ThreadPool& pool, const AttentionScores<T>& scores,
                     const AttentionOperands<T>& operands, const T* dy,
                     const AttentionGradients<T>& gradients, const Tile& tile, std::byte* at) const;

  AttentionShape shape_;
  const Kernels* kernels_;
  std::int64_t tile_rows_ = 1;
  std::shared_ptr<const std::array<TileProducts, 2>> products_;
  std::size_t tile_bytes_ = 0;
  std::size_t product_bytes_ = 0;
  std::size_t workspace_ = 0;
};

}  // namespace ondine::math
