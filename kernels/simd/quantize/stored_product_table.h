// Products of few rows of float32 by a matrix of few bits, which is read where it lies.
#pragma once

#include <cstdint>

namespace ondine::math {

// How elements lie: one in a byte, or two, the first in the low bits, that say which of 16 numbers
// each is.
enum class StoredAs : std::uint8_t { signed_bytes, unsigned_bytes, nibbles };

// B, `k` terms by `n` columns: (element - zero point) scale.
struct StoredMatrix {
  StoredAs as = StoredAs::signed_bytes;
  // The terms of a column follow each other; else the columns of a term. Of nibbles, such a line
  // has an even number.
  bool by_columns = false;
  const std::uint8_t* elements = nullptr;
  std::int64_t n = 0, k = 0;
  const float* levels = nullptr;  // the 16 numbers of nibbles
  // Blocks of so many terms of a column have one scale. Of block i of column j it is element
  // i * block_step + j * column_step; column_step is at most 1 unless by_columns.
  std::int64_t block = 0;
  std::int64_t block_step = 0, column_step = 0;
  const float* scales = nullptr;
  // As the scales lie, bytes; null: 0. None for nibbles whose levels are no steps of 1.
  const std::uint8_t* zero_points = nullptr;
  bool signed_zero_points = false;
};

// C = A B + bias, columns first <= j < last of it.
struct StoredProductCall {
  std::int64_t m = 0;
  std::int64_t first = 0, last = 0;  // of nibbles, `first` is even
  const float* a = nullptr;
  std::int64_t a_row = 0;  // elements from a row to the next
  const StoredMatrix* b = nullptr;
  float* c = nullptr;
  std::int64_t ldc = 0;
  const float* bias = nullptr;  // one for each column, or null
};

struct StoredProductKernels {
  void (*run)(const StoredProductCall& call);
  std::int64_t columns;  // that are computed together: chunks best have a multiple of it
  // Whether nibbles may mean any numbers; else only those of int4 and of uint4, less a whole
  // number.
  bool any_levels;
};

}  // namespace ondine::math
