// Attention: Attention and FlexAttention, which are fused into ScaledAttention (ai.ondine),
// LinearAttention with LinearRecurrence, and RotaryEmbedding. This header: the primitive of
// ScaledAttention and its gradient, in float and double, by tiles of queries, so that no matrix of
// all scores is kept.
//
// Implementation:
//   tiled   matrix products and softmax rows of the scores of one tile, which has fewer queries and
//           only the keys that they see where a mask hides many (visible_keys.h)
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "kernels/attention/visible_keys.h"
#include "kernels/common/scratch_pool.h"
#include "kernels/matmul/gemm_primitive.h"

namespace ondine::math {

// For each of `count` heads: Q queries x head_size, K keys x head_size (key_rows) or head_size x
// keys, V keys x v_head_size, Y queries x v_head_size. `interleaved` heads lie beside each other:
// row i of each, then row i + 1 of each, and 1 means one matrix after the other. More than 1 need
// key_rows.
struct AttentionShape {
  std::int64_t count = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t head_size = 0;
  std::int64_t v_head_size = 0;
  bool key_rows = true;
  std::int64_t masks = 0;       // that heads share; 0: no mask
  bool mask_per_query = false;  // else one row for all queries
  std::int64_t interleaved = 1;

  // The first element of row `row` of a head, in an operand of `rows` rows of `size`.
  std::int64_t offset(std::int64_t head, std::int64_t rows, std::int64_t row,
                      std::int64_t size) const {
    return ((head / interleaved * rows + row) * interleaved + head % interleaved) * size;
  }
};

// S = scale Q K^T + mask. The masks lie one after the other; that of head i starts at offsets[i].
template <class T>
struct AttentionScores {
  T scale = 1;
  const T* mask = nullptr;
  const std::int64_t* offsets = nullptr;
  // All heads, those of each mask one after the other; read where the mask has a gradient.
  const std::int64_t* heads_by_mask = nullptr;
};

template <class T>
struct AttentionOperands {
  const T* q = nullptr;
  const T* k = nullptr;
  const T* v = nullptr;
};

// Those that are null are not computed. The gradient of a mask is the sum of those of the scores of
// all heads that have it.
template <class T>
struct AttentionGradients {
  T* dq = nullptr;
  T* dk = nullptr;
  T* dv = nullptr;
  T* dmask = nullptr;
};

// Immutable; may run on several threads at once, each with a workspace of its own.
template <class T>
class AttentionPrimitive {
 public:
  // `threads`: of the pool that will run it. Only the size of the workspace depends on it.
  // `trains_mask`: whether gradients of masks will be asked for.
  AttentionPrimitive(const AttentionShape& shape, int threads,
                     const Kernels& kernels = math::kernels(), bool trains_mask = false);

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
  enum Product : std::uint8_t {
    scores_product,
    y_product,
    dv_product,
    ds_product,
    dq_product,
    dk_product,
    product_count
  };
  using Products = std::array<GemmPrimitive<T>, product_count>;

  // The queries [first, first + rows) of a head and the keys that they see; rows is 0 beyond the
  // last one.
  struct Tile {
    std::int64_t head = 0, first = 0, rows = 0;
    KeyRange keys;
  };
  // What the tasks of a run share.
  struct Run {
    ThreadPool& pool;
    const AttentionScores<T>& scores;
    const AttentionOperands<T>& operands;
    std::optional<VisibleKeys<T>> visible;  // where keys are hidden

    bool hides(std::int64_t head) const { return visible && visible->hides(head); }
  };
  static GemmShape product_shape(Product product, const AttentionShape& s, std::int64_t rows,
                                 std::int64_t keys);
  std::int64_t mask_elements() const {
    return shape_.keys * (shape_.mask_per_query ? shape_.queries : 1);
  }
  static Products make_products(const AttentionShape& s, std::int64_t rows, const Kernels& kernels);
  std::size_t product_bytes() const;
  // A thread computes a tile alone.
  void multiply(ThreadPool& pool, Product product, const Tile& tile, const T* a, const T* b, T* c,
                const GemmOptions<T>& options, std::byte* at) const;
  std::int64_t key_offset(const Tile& tile) const;

  Run begin(ThreadPool& pool, const AttentionScores<T>& scores,
            const AttentionOperands<T>& operands, const T* dy, void* workspace) const;
  std::int64_t max_tiles(const Run& run) const;
  Tile tile_of(const Run& run, std::int64_t head, std::int64_t index) const;

  // Scratch memory of a thread: two tiles of scores, then that of its products.
  T* scores_at(std::byte* at) const { return reinterpret_cast<T*>(at); }
  T* derivatives_at(std::byte* at) const { return reinterpret_cast<T*>(at + tile_bytes_); }
  Workspace products_at(std::byte* at) const { return {at + 2 * tile_bytes_, product_bytes_}; }
  std::size_t slot_bytes() const { return 2 * tile_bytes_ + product_bytes_; }
  // The workspace: what VisibleKeys needs, the sums of groups of heads, then that of the threads.
  T* sums_of(void* workspace) const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(workspace) + mask_bytes_);
  }
  Workspace slots_of(void* workspace) const {
    const std::size_t before = mask_bytes_ + sum_bytes_;
    return {static_cast<std::byte*>(workspace) + before, workspace_ - before};
  }

  // softmax(S) of a tile.
  void weights(const Run& run, const Tile& tile, std::byte* at) const;
  // Writes dq and adds to dmask; beta is that of dk and dv.
  void tile_gradient(const Run& run, const T* dy, const AttentionGradients<T>& gradients,
                     const Tile& tile, T beta, std::byte* at) const;
  void head_gradient(const Run& run, const T* dy, const AttentionGradients<T>& gradients,
                     std::int64_t head, std::byte* at) const;
  // The same for all heads, group by group: each group has a sum, and those of a mask are added in
  // order.
  void mask_gradient(const Run& run, const T* dy, const AttentionGradients<T>& gradients, T* sums,
                     ScratchPool& slots) const;

  AttentionShape shape_;
  const Kernels* kernels_;
  std::int64_t tile_rows_ = 1;
  // Of tiles that see all keys; the last tile of a head may have fewer queries than the others.
  std::shared_ptr<const std::array<Products, 2>> products_;
  std::int64_t groups_ = 1;  // of the heads of each mask, where the mask has a gradient
  std::size_t mask_bytes_ = 0;
  std::size_t sum_bytes_ = 0;
  std::size_t tile_bytes_ = 0;
  std::size_t product_bytes_ = 0;
  std::size_t workspace_ = 0;
};

}  // namespace ondine::math
