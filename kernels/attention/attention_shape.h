// Sizes and operands of attention.
#pragma once

#include <cstdint>
#include <utility>

#include "kernels/simd/elements.h"

namespace ondine::math {

// What an element of the second mask that is not 0 replaces in the sum of scores: scale Q K^T, the
// first mask or both, which then have no derivative there.
enum class Replaced : std::uint8_t { nothing, products, mask, both };

inline bool replaces_products(Replaced replaced) {
  return replaced == Replaced::products || replaced == Replaced::both;
}
inline bool replaces_mask(Replaced replaced) {
  return replaced == Replaced::mask || replaced == Replaced::both;
}

// For each of `count` heads: Q queries x head_size, K keys x head_size (key_rows) or head_size x
// keys, V keys x v_head_size, Y queries x v_head_size. `interleaved` heads lie beside each other:
// row i of each, then row i + 1 of each, and 1 means one matrix after the other. More than 1 need
// key_rows.
//
// K and V have a head for each `group` heads of Q, which follow each other.
//
// With `packed` 3, Q, K and V are parts of one operand: row i of the heads of Q, then of K, then of
// V, then row i + 1 of each. They have equal heads, rows and sizes and need key_rows. Otherwise it
// is 1.
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
  std::int64_t packed = 1;
  std::int64_t more_masks = 0;  // as masks and mask_per_query, of a second mask
  bool more_per_query = false;
  Replaced replaced = Replaced::nothing;
  std::int64_t group = 1;
  bool capped = false;  // whether scale Q K^T is cap tanh(scale Q K^T / cap) instead

  // The same, with each mask in the place of the other.
  AttentionShape with_masks_swapped() const {
    AttentionShape other = *this;
    std::swap(other.masks, other.more_masks);
    std::swap(other.mask_per_query, other.more_per_query);
    return other;
  }
  bool has_masks() const { return masks > 0 || more_masks > 0; }
  std::int64_t more_elements() const { return more_masks * keys * (more_per_query ? queries : 1); }

  // Heads of K and V that lie beside each other.
  std::int64_t key_heads() const { return interleaved > group ? interleaved / group : 1; }

  // Elements from a row of a head to its next.
  std::int64_t q_row() const { return packed * interleaved * head_size; }
  std::int64_t k_row() const { return key_rows ? packed * key_heads() * head_size : keys; }
  std::int64_t v_row() const { return packed * key_heads() * v_head_size; }
  std::int64_t y_row() const { return interleaved * v_head_size; }

  // The first element of row `row` of a head, or without key_rows of column `row` of K.
  std::int64_t q_offset(std::int64_t head, std::int64_t row) const {
    return offset(head, interleaved, queries, row, q_row(), head_size);
  }
  std::int64_t k_offset(std::int64_t head, std::int64_t row) const {
    return key_rows ? offset(head / group, key_heads(), keys, row, k_row(), head_size)
                    : head / group * head_size * keys + row;
  }
  std::int64_t v_offset(std::int64_t head, std::int64_t row) const {
    return offset(head / group, key_heads(), keys, row, v_row(), v_head_size);
  }
  std::int64_t y_offset(std::int64_t head, std::int64_t row) const {
    return offset(head, interleaved, queries, row, y_row(), v_head_size);
  }

 private:
  static std::int64_t offset(std::int64_t head, std::int64_t beside, std::int64_t rows,
                             std::int64_t row, std::int64_t step, std::int64_t size) {
    return (head / beside * rows + row) * step + head % beside * size;
  }
};

// S = scale Q K^T + more + mask, where `more` is a second mask, unless that replaces a term. Masks
// lie one after the other; that of head i starts at offsets[i].
template <class T>
struct AttentionScores {
  T scale = 1;
  const T* mask = nullptr;
  const std::int64_t* offsets = nullptr;
  // All heads, those of each mask one after the other; read where the mask has a gradient.
  const std::int64_t* heads_by_mask = nullptr;
  bool zero_rows = false;  // weights of queries from which the masks hide all keys are 0, not NaN
  const T* more = nullptr;
  const std::int64_t* more_offsets = nullptr;
  T cap = 0;

  AttentionScores with_masks_swapped() const {
    AttentionScores other = *this;
    std::swap(other.mask, other.more);
    std::swap(other.offsets, other.more_offsets);
    return other;
  }
};

// Operands are bfloat16 only where AttentionPrimitive::takes_bf16.
template <class T>
struct AttentionOperands {
  Elements<const T> q, k, v;
};

// Results of the gradient; null ones are not computed. The gradient of a mask is the sum of the
// gradients of the scores of all heads that have this mask.
template <class T>
struct AttentionGradients {
  T* dq = nullptr;
  T* dk = nullptr;
  T* dv = nullptr;
  T* dmask = nullptr;
};

struct KeyRange {
  std::int64_t begin = 0;
  std::int64_t size = 0;
};

// The queries [first, first + rows) of a head and the keys that they see; rows is 0 beyond the last
// one.
struct AttentionTile {
  std::int64_t head = 0, first = 0, rows = 0;
  KeyRange keys;
};

}  // namespace ondine::math
