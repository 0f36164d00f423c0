#include "kernels/attention/visible_keys.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>

#include "core/checked.h"
#include "kernels/attention/attention_primitive.h"
#include "kernels/common/compute_type.h"
#include "kernels/common/rounding.h"
#include "kernels/common/workspace.h"
#include "kernels/simd/tables.h"
#include "kernels/simd/vector/vector_table.h"

namespace ondine::math {
namespace {

template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();

// exp(x) is 0 for every x below.
template <class T>
constexpr T underflow = sizeof(T) == sizeof(float) ? T{-104} : T{-746};

// Whether a mask of at most `largest` puts all scores out of sight of a query for whose best key
// the mask is `best` or more.
template <class T>
bool is_hidden(T largest, T best, T bound) {
  return (largest + bound) - (best - bound) < underflow<T>;
}

// The largest magnitude; not finite if an element is not.
template <class T>
T largest_magnitude(const VectorKernels<T>& vector, const T* x, std::int64_t n) {
  if (n == 0) return 0;
  const T high = vector.max_of(x, n);
  const T low = vector.min_of(x, n);
  if (high != high || low != low) return infinity<T>;
  return std::max(high, -low);
}

// Parts in which the operands of interleaved heads are measured.
std::int64_t parts_of(const AttentionShape& s) { return s.interleaved > 1 ? 8 : 1; }

// Tiles of one mask, which are one if it has one row for all queries.
std::int64_t mask_tiles(const AttentionShape& s, std::int64_t rows) {
  return s.mask_per_query ? divide_up(s.queries, rows) : 1;
}

}  // namespace

template <class T>
std::int64_t VisibleKeys<T>::tile_rows(const AttentionShape& s) {
  constexpr std::int64_t elements = 65536;
  const std::int64_t rows =
      std::clamp<std::int64_t>(elements / std::max<std::int64_t>(1, s.keys), 16, 64);
  return std::clamp<std::int64_t>(s.queries, 1, rows);
}

template <class T>
std::size_t VisibleKeys<T>::bytes(const AttentionShape& s) {
  const std::int64_t kept =
      checked_mul(checked_mul(s.masks, mask_tiles(s, tile_rows(s))), divide_up(s.keys, block) + 1);
  const std::int64_t sizes = checked_mul(s.count / s.interleaved, 3 * parts_of(s));
  return bytes_of<T>(checked_add(checked_add(s.count, kept), sizes));
}

template <class T>
VisibleKeys<T>::VisibleKeys(const AttentionShape& shape, const AttentionScores<T>& scores,
                            const SimdTables& kernels, void* memory)
    : shape_(shape),
      scores_(scores),
      kernels_(&kernels),
      blocks_(divide_up(shape.keys, block)),
      rows_(tile_rows(shape)),
      tiles_(mask_tiles(shape, rows_)),
      bounds_(static_cast<T*>(memory)),
      kept_(bounds_ + shape.count),
      sizes_(reinterpret_cast<Size*>(kept_ + shape.masks * tiles_ * kept())) {}

template <class T>
const T* VisibleKeys<T>::kept_of(std::int64_t head, std::int64_t tile) const {
  const std::int64_t mask =
      scores_.offsets[head] / (shape_.keys * (shape_.mask_per_query ? shape_.queries : 1));
  return kept_ + (mask * tiles_ + std::min(tile, tiles_ - 1)) * kept();
}

// Returns whether anything may be hidden from all queries of the tile. Rows are read until it is
// known that nothing is.
template <class T>
bool VisibleKeys<T>::read_tile(std::int64_t mask, std::int64_t tile) {
  const AttentionShape& s = shape_;
  const auto max_of = tables_of<T>(*kernels_).vector->max_of;
  const std::int64_t rows = s.mask_per_query ? s.queries : 1;
  const std::int64_t first = tile * rows_;
  T* const least = kept_ + (mask * tiles_ + tile) * kept();
  T* const largest = least + 1;
  *least = infinity<T>;
  std::fill_n(largest, blocks_, -infinity<T>);
  for (std::int64_t i = first; i < std::min(rows, first + rows_); ++i) {
    const T* const row = scores_.mask + (mask * rows + i) * s.keys;
    T best = -infinity<T>;
    bool finite = true;  // else the row's weights are NaN
    for (std::int64_t j = 0; j < blocks_; ++j) {
      const T here = max_of(row + j * block, std::min(block, s.keys - j * block));
      finite = finite && here < infinity<T>;
      best = std::max(best, here);
      largest[j] = std::max(largest[j], here);
    }
    *least = std::min(*least, best);
    if (!finite ||
        (!is_hidden(largest[0], *least, T{0}) && !is_hidden(largest[blocks_ - 1], *least, T{0}))) {
      *least = -infinity<T>;
      return false;
    }
  }
  return true;
}

template <class T>
template <class Measure, class Join>
void VisibleKeys<T>::measure(ThreadPool& pool, const AttentionOperands<T>& operands, const T* dy,
                             Measure norm, Join join) {
  const AttentionShape& s = shape_;
  const std::int64_t parts = parts_of(s);
  const auto widen = kernels::read_row<T>(DType::bfloat16);
  const auto norm_of = [&](Elements<const T> x, std::int64_t n) {
    if (!x.is_bf16()) return norm(x.plain(), n);
    std::array<T, 1024> widened;
    T all = 0;
    for (std::int64_t i = 0; i < n; i += std::ssize(widened)) {
      const std::int64_t some = std::min<std::int64_t>(n - i, std::ssize(widened));
      widen(widened.data(), (x + i).memory(), some);
      all = join(all, norm(widened.data(), some));
    }
    return all;
  };
  // Of `rows` rows of the heads of `size` that lie beside each other, `packed` operands each.
  const auto part = [&](std::int64_t i, Elements<const T> x, std::int64_t rows, std::int64_t size,
                        std::int64_t packed, bool of_keys) {
    if (!x) return T{0};
    const std::int64_t row = (of_keys ? s.key_heads() : s.interleaved) * size;
    const std::int64_t matrix = of_keys && s.interleaved == 1 ? i / parts / s.group : i / parts;
    const std::int64_t first = rows * (i % parts) / parts;
    const std::int64_t last = rows * (i % parts + 1) / parts;
    x += (matrix * rows + first) * packed * row;
    if (packed == 1) return norm_of(x, (last - first) * row);
    T all = 0;
    for (auto at = first; at < last; ++at, x += packed * row) {
      all = join(all, norm_of(x, row));
    }
    return all;
  };
  pool.for_chunks(s.count / s.interleaved * parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) {
      sizes_[i] = {part(i, operands.q, s.queries, s.head_size, s.packed, false),
                   part(i, operands.k, s.keys, s.head_size, s.packed, true),
                   part(i, operands.v, s.keys, s.v_head_size, s.packed, true) +
                       part(i, dy, s.queries, s.v_head_size, 1, false)};
    }
  });
}

template <class T>
template <class Join>
typename VisibleKeys<T>::Size VisibleKeys<T>::size_of(std::int64_t head, Join join) const {
  const std::int64_t parts = parts_of(shape_);
  const Size* const first = sizes_ + head / shape_.interleaved * parts;
  Size all = *first;
  for (std::int64_t i = 1; i < parts; ++i) {
    all = {join(all.q, first[i].q), join(all.k, first[i].k), join(all.others, first[i].others)};
  }
  return all;
}

template <class T>
T VisibleKeys<T>::largest_of_more(ThreadPool& pool) const {
  if (scores_.more == nullptr) return 0;
  constexpr std::int64_t grain = 65536;
  const std::int64_t n = shape_.more_elements();
  std::atomic<T> largest = 0;
  pool.for_chunks(divide_up(n, grain), 1, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * grain;
    const T here = largest_magnitude(*tables_of<T>(*kernels_).vector, scores_.more + first,
                                     std::min(n, end * grain) - first);
    T before = largest.load(std::memory_order_relaxed);
    while (before < here && !largest.compare_exchange_weak(before, here)) {
    }
  });
  return largest.load();
}

template <class T>
bool VisibleKeys<T>::pays(std::int64_t head, T bound) {
  // More than the factors' and the sums' rounding, in bfloat16 too.
  constexpr T rounding = T{1.0625};
  bounds_[head] = rounding * (std::abs(scores_.scale) * bound + more_);
  const std::int64_t tiles = divide_up(shape_.queries, rows_);
  std::int64_t seen = 0;
  for (std::int64_t tile = 0; tile < tiles; ++tile) seen += range(head, tile).size;
  return 8 * seen <= 7 * tiles * shape_.keys;
}

template <class T>
bool VisibleKeys<T>::find(ThreadPool& pool, const AttentionOperands<T>& operands, const T* dy) {
  const AttentionShape& s = shape_;
  std::atomic<bool> any = false;
  pool.for_chunks(s.masks * tiles_, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) {
      if (read_tile(i / tiles_, i % tiles_)) any.store(true, std::memory_order_relaxed);
    }
  });
  if (!any.load()) return false;
  more_ = largest_of_more(pool);
  if (!(more_ < infinity<T>)) return false;
  const VectorKernels<T>& vector = *tables_of<T>(*kernels_).vector;
  measure(pool, operands, dy, vector.sum_squares, std::plus<T>());
  bool found = false;
  bool exact = false;
  for (std::int64_t head = 0; head < s.count; ++head) {
    const Size sum = size_of(head, std::plus<T>());
    // A weight of 0 times what is not finite is NaN.
    if (!(sum.others < infinity<T>) || !pays(head, T{0})) {
      bounds_[head] = std::numeric_limits<T>::quiet_NaN();
    } else if (pays(head, std::sqrt(sum.q) * std::sqrt(sum.k))) {
      found = true;
    } else {
      bounds_[head] = infinity<T>;
      exact = true;
    }
  }
  return exact ? find_exactly(pool, operands) || found : found;
}

// The heads whose bounds are infinite, by the largest elements.
template <class T>
bool VisibleKeys<T>::find_exactly(ThreadPool& pool, const AttentionOperands<T>& operands) {
  const VectorKernels<T>& vector = *tables_of<T>(*kernels_).vector;
  const auto larger = [](T a, T b) { return std::max(a, b); };
  measure(
      pool, {operands.q, operands.k, {}}, nullptr,
      [&](const T* x, std::int64_t n) { return largest_magnitude(vector, x, n); }, larger);
  bool found = false;
  for (std::int64_t head = 0; head < shape_.count; ++head) {
    if (bounds_[head] != infinity<T>) continue;
    const Size most = size_of(head, larger);
    if (pays(head, static_cast<T>(shape_.head_size) * most.q * most.k)) {
      found = true;
    } else {
      bounds_[head] = std::numeric_limits<T>::quiet_NaN();
    }
  }
  return found;
}

template <class T>
bool VisibleKeys<T>::hides(std::int64_t head) const {
  return bounds_[head] < infinity<T>;
}

template <class T>
KeyRange VisibleKeys<T>::range(std::int64_t head, std::int64_t tile) const {
  const T* const largest = kept_of(head, tile) + 1;
  const T least = largest[-1];
  const T bound = bounds_[head];
  std::int64_t first = 0;
  std::int64_t last = blocks_;
  while (first < last && is_hidden(largest[first], least, bound)) ++first;
  while (first < last && is_hidden(largest[last - 1], least, bound)) --last;
  if (first == last) return {0, shape_.keys};
  const std::int64_t end = std::min(last * block, shape_.keys);
  const std::int64_t size = std::min((last - first) * block, shape_.keys);
  return {end - size, size};
}

template class VisibleKeys<float>;
template class VisibleKeys<double>;

}  // namespace ondine::math
