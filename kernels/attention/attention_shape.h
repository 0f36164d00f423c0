// Sizes and operands of attention.
#pragma once

#include <cstdint>

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
