// How the tiles of a head of attention are computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "core/parallel.h"
#include "kernels/attention/attention_shape.h"

namespace ondine::math {

// Values of a mask for row `row` of a tile, from the first key that the tile sees; null without a
// mask.
template <class T>
const T* row_of_mask(const T* mask, const std::int64_t* offsets, bool per_query, std::int64_t keys,
                     const AttentionTile& tile, std::int64_t row) {
  if (mask == nullptr) return nullptr;
  return mask + offsets[tile.head] + (per_query ? tile.first + row : 0) * keys + tile.keys.begin;
}

template <class T>
const T* mask_row(const AttentionShape& shape, const AttentionScores<T>& scores,
                  const AttentionTile& tile, std::int64_t row) {
  return row_of_mask(scores.mask, scores.offsets, shape.mask_per_query, shape.keys, tile, row);
}

// The second mask.
template <class T>
const T* more_row(const AttentionShape& shape, const AttentionScores<T>& scores,
                  const AttentionTile& tile, std::int64_t row) {
  return row_of_mask(scores.more, scores.more_offsets, shape.more_per_query, shape.keys, tile, row);
}

// Whether rows of masks hide all keys. Tiles pass over no key of a query that sees none.
template <class T>
bool hides_all(const AttentionShape& shape, const T* mask, const T* more, std::int64_t keys) {
  if (mask == nullptr && more == nullptr) return false;
  for (std::int64_t i = 0; i < keys; ++i) {
    const T second = more != nullptr ? more[i] : T{0};
    const bool replaces = replaces_mask(shape.replaced) && second != T{0};
    const T sum = second + (mask != nullptr && !replaces ? mask[i] : T{0});
    if (sum != -std::numeric_limits<T>::infinity()) return false;
  }
  return true;
}

// Immutable. `memory`: bytes() of a thread, aligned to 64.
template <class T>
class HeadKernel {
 public:
  virtual ~HeadKernel() = default;

  virtual std::string_view name() const noexcept = 0;
  virtual std::size_t bytes() const noexcept = 0;
  // Whether the tiles of a head share what is packed in `memory`, so that heads are better not cut.
  virtual bool packs() const noexcept = 0;
  // Whether operands may be bfloat16.
  virtual bool takes_bf16() const noexcept = 0;

  // Y of a tile, after `pack` of its head.
  virtual void pack(const AttentionOperands<T>& operands, std::int64_t head,
                    std::byte* memory) const = 0;
  virtual void run(ThreadPool& pool, const AttentionTile& tile, const AttentionScores<T>& scores,
                   const AttentionOperands<T>& operands, T* y, std::byte* memory) const = 0;

  // After `pack_gradient` of its head, dQ of a tile and what it adds to dK and dV times `beta`, 0
  // or 1, and to dmask. What is null is not wanted.
  virtual void pack_gradient(const AttentionOperands<T>& operands, std::int64_t head,
                             std::byte* memory) const = 0;
  virtual void run_gradient(ThreadPool& pool, const AttentionTile& tile,
                            const AttentionScores<T>& scores, const AttentionOperands<T>& operands,
                            const T* dy, const AttentionGradients<T>& gradients, T beta,
                            std::byte* memory) const = 0;
};

}  // namespace ondine::math
