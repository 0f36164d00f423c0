// Which keys the queries of a tile see under a mask, so that attention passes over the others, as
// those after a position in causal attention.
//
// A key is passed over where its weight is exactly 0 for every query of the tile: where the mask
// puts its score so far below that of another key that the softmax's exp gives 0, whatever Q and K
// are. Scores differ from the mask by at most |scale| |q| |k| and the largest element of the second
// mask, with |q| |k| no more than the root of the sums of all squares and than head_size max|q|
// max|k|. Queries that see no key at all,
// learned biases and operands that are not finite thus hide nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/parallel.h"
#include "kernels/attention/attention_shape.h"
#include "kernels/simd/isa.h"

namespace ondine::math {

// Visible keys of one run. Results do not depend on the number of threads.
template <class T>
class VisibleKeys {
 public:
  // Ranges have a multiple of so many keys, or all of them.
  static constexpr std::int64_t block = 64;

  // Queries of a tile where keys are hidden.
  static std::int64_t tile_rows(const AttentionShape& shape);
  static std::size_t bytes(const AttentionShape& shape);

  // `memory`: bytes(shape), for as long as this lives.
  VisibleKeys(const AttentionShape& shape, const AttentionScores<T>& scores,
              const SimdTables& kernels, void* memory);

  // Returns whether any head hides keys. dy: null, or the derivative that is multiplied by the
  // weights too.
  bool find(ThreadPool& pool, const AttentionOperands<T>& operands, const T* dy);

  // Whether enough is hidden from the queries of a head to be worth smaller tiles.
  bool hides(std::int64_t head) const;
  // Keys that tile `tile`, of tile_rows queries, sees.
  KeyRange range(std::int64_t head, std::int64_t tile) const;

 private:
  // Number of elements kept of a mask for each tile: first the least of the maxima of the rows, or
  // minus infinity where nothing is hidden, then the maximum of each block of keys over all rows.
  std::int64_t kept() const { return blocks_ + 1; }
  const T* kept_of(std::int64_t head, std::int64_t tile) const;
  bool read_tile(std::int64_t mask, std::int64_t tile);
  // Measures of the operands of interleaved heads, taken in parts.
  struct Size {
    T q, k, others;
  };
  template <class Measure, class Join>
  void measure(ThreadPool& pool, const AttentionOperands<T>& operands, const T* dy, Measure norm,
               Join join);
  template <class Join>
  Size size_of(std::int64_t head, Join join) const;
  bool find_exactly(ThreadPool& pool, const AttentionOperands<T>& operands);
  // The largest magnitude of the second mask.
  T largest_of_more(ThreadPool& pool) const;
  // Whether passing over keys of the head pays under a bound on |q| |k|, which becomes its own.
  bool pays(std::int64_t head, T bound);

  AttentionShape shape_;
  AttentionScores<T> scores_;
  const SimdTables* kernels_;
  T more_ = 0;
  std::int64_t blocks_, rows_, tiles_;
  T* bounds_;  // of each head; NaN where nothing is hidden
  T* kept_;    // of each mask and tile
  Size* sizes_;
};

}  // namespace ondine::math
