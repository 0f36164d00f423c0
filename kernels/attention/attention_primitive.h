// Attention: Attention and FlexAttention, which are fused into ScaledAttention and PackedAttention
// (ai.ondine), LinearAttention with LinearRecurrence, and RotaryEmbedding. This header: the
// primitive of ScaledAttention, PackedAttention and their gradients, in float and double, by tiles
// of queries, so that no matrix of all scores is kept.
//
// Implementations:
//   tiled       matrix products and softmax rows of the scores of one tile (plain_heads.h)
//   tiled_bf16  the same with products that round their factors to bfloat16, which are packed once
//               for a head (rounded_heads.h)
// Where a mask hides many keys, a tile has fewer queries and only the keys that they see
// (visible_keys.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "kernels/attention/attention_shape.h"
#include "kernels/attention/head_kernel.h"
#include "kernels/attention/visible_keys.h"
#include "kernels/common/scratch_pool.h"

namespace ondine::math {

// Immutable; may run on several threads at once, each with a workspace of its own.
template <class T>
class AttentionPrimitive {
 public:
  // Whether operands may be bfloat16.
  static bool takes_bf16(const AttentionShape& shape, const SimdTables& kernels);

  // `threads`: of the pool that will run it. Only the size of the workspace depends on it.
  // `trains_mask`: whether gradients of masks will be asked for.
  AttentionPrimitive(const AttentionShape& shape, int threads,
                     const SimdTables& kernels = math::simd_tables(), bool trains_mask = false);

  std::size_t workspace() const noexcept { return workspace_; }  // bytes, of either direction
  // Y = softmax(S) V
  void run(ThreadPool& pool, const AttentionScores<T>& scores, const AttentionOperands<T>& operands,
           T* y, void* workspace) const;
  // The gradients from dy; scores are recomputed.
  void run_gradient(ThreadPool& pool, const AttentionScores<T>& scores,
                    const AttentionOperands<T>& operands, const T* dy,
                    const AttentionGradients<T>& gradients, void* workspace) const;
  std::string_view name() const noexcept { return heads_ ? heads_->name() : "tiled"; }
  std::string_view isa() const noexcept { return isa_name(*kernels_); }

 private:
  // State that the tasks of a run share.
  struct Run {
    ThreadPool& pool;
    const AttentionScores<T>& scores;
    const AttentionOperands<T>& operands;
    std::optional<VisibleKeys<T>> visible;  // where keys are hidden

    bool hides(std::int64_t head) const { return visible && visible->hides(head); }
  };
  std::int64_t mask_elements() const {
    return shape_.keys * (shape_.mask_per_query ? shape_.queries : 1);
  }

  Run begin(ThreadPool& pool, const AttentionScores<T>& scores,
            const AttentionOperands<T>& operands, const T* dy, void* workspace) const;
  std::int64_t max_tiles(const Run& run) const;
  AttentionTile tile_of(const Run& run, std::int64_t head, std::int64_t index) const;

  std::size_t slot_bytes() const { return heads_->bytes(); }
  // The workspace: what VisibleKeys needs, the sums of groups of heads, then that of the threads.
  T* sums_of(void* workspace) const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(workspace) + mask_bytes_);
  }
  Workspace slots_of(void* workspace) const {
    const std::size_t before = mask_bytes_ + sum_bytes_;
    return {static_cast<std::byte*>(workspace) + before, workspace_ - before};
  }

  void run_tiles(const Run& run, std::int64_t head, std::int64_t first, std::int64_t last, T* y,
                 std::byte* at) const;
  void head_gradient(const Run& run, const T* dy, const AttentionGradients<T>& gradients,
                     std::int64_t head, std::byte* at) const;
  // Runs head_gradient for all heads, group by group. Each group has a sum; the sums of a mask are
  // added in order.
  void mask_gradient(const Run& run, const T* dy, const AttentionGradients<T>& gradients, T* sums,
                     ScratchPool& slots) const;

  AttentionShape shape_;
  const SimdTables* kernels_;
  std::int64_t tile_rows_ = 1;
  std::shared_ptr<const HeadKernel<T>> heads_;  // null where there is nothing to compute
  std::int64_t groups_ = 1;  // of the heads of each mask, where the mask has a gradient
  std::size_t mask_bytes_ = 0;
  std::size_t sum_bytes_ = 0;
  std::size_t workspace_ = 0;
};

}  // namespace ondine::math
