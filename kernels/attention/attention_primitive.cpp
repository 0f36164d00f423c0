#include "kernels/attention/attention_primitive.h"

#include <algorithm>

#include "core/checked.h"
#include "kernels/common/rounding.h"
#include "kernels/simd/norm/softmax_table.h"
#include "kernels/simd/tables.h"
#include "kernels/simd/vector/vector_table.h"

namespace ondine::math {
namespace {

// Rows of queries of a tile that sees all keys: its scores stay in a second cache.
std::int64_t tile_rows(const AttentionShape& s) {
  constexpr std::int64_t elements = 32768;
  const std::int64_t rows =
      std::clamp<std::int64_t>(elements / std::max<std::int64_t>(1, s.keys), 16, 256);
  return std::clamp<std::int64_t>(s.queries, 1, rows);
}

// Groups of heads of each mask that sum its gradient: enough for many threads, and so many heads
// each that the sums are few beside the scores.
std::int64_t groups_of_heads(const AttentionShape& s) {
  constexpr std::int64_t tasks = 24;
  constexpr std::int64_t min_heads = 4;
  const std::int64_t wanted = (tasks + s.masks - 1) / s.masks;
  return std::clamp<std::int64_t>(s.count / s.masks / min_heads, 1, wanted);
}

}  // namespace

// `keys` beside each other of all keys of a head.
template <class T>
GemmShape AttentionPrimitive<T>::product_shape(Product product, const AttentionShape& s,
                                               std::int64_t rows, std::int64_t keys) {
  const std::int64_t row = s.interleaved * s.head_size;
  const std::int64_t v_row = s.interleaved * s.v_head_size;
  const std::int64_t key_row = s.key_rows ? row : s.keys;
  switch (product) {
    case scores_product:
      return {.m = rows,
              .n = keys,
              .k = s.head_size,
              .trans_b = s.key_rows,
              .lda = row,
              .ldb = key_row};
    case y_product:
      return {.m = rows, .n = s.v_head_size, .k = keys, .ldb = v_row, .ldc = v_row};
    case dv_product:
      return {
          .m = keys, .n = s.v_head_size, .k = rows, .trans_a = true, .ldb = v_row, .ldc = v_row};
    case ds_product:
      return {
          .m = rows, .n = keys, .k = s.v_head_size, .trans_b = true, .lda = v_row, .ldb = v_row};
    case dq_product:
      return {.m = rows,
              .n = s.head_size,
              .k = keys,
              .trans_b = !s.key_rows,
              .ldb = key_row,
              .ldc = row};
    default:
      break;
  }
  if (!s.key_rows) {
    return {.m = s.head_size, .n = keys, .k = rows, .trans_a = true, .lda = row, .ldc = key_row};
  }
  return {.m = keys, .n = s.head_size, .k = rows, .trans_a = true, .ldb = row, .ldc = row};
}

template <class T>
typename AttentionPrimitive<T>::Products AttentionPrimitive<T>::make_products(
    const AttentionShape& s, std::int64_t rows, const Kernels& kernels) {
  const auto make = [&](Product product) {
    return GemmPrimitive<T>(product_shape(product, s, rows, s.keys), 1, 1, kernels);
  };
  return {make(scores_product), make(y_product),  make(dv_product),
          make(ds_product),     make(dq_product), make(dk_product)};
}

// Of every product of any tile.
template <class T>
std::size_t AttentionPrimitive<T>::product_bytes() const {
  std::size_t bytes = 0;
  for (const Products& products : *products_) {
    for (const GemmPrimitive<T>& product : products) {
      bytes = std::max(bytes, product.workspace());
    }
  }
  if (shape_.masks == 0) return bytes;
  const std::int64_t rows = VisibleKeys<T>::tile_rows(shape_);
  for (std::int64_t keys = 0; keys < shape_.keys;) {
    keys = std::min(keys + VisibleKeys<T>::block, shape_.keys);
    for (const std::int64_t some : {rows, shape_.queries % rows}) {
      for (int product = 0; product < product_count; ++product) {
        const GemmShape shape = product_shape(static_cast<Product>(product), shape_, some, keys);
        bytes = std::max(bytes, GemmPrimitive<T>(shape, 1, 1, *kernels_).workspace());
      }
    }
  }
  return bytes;
}

template <class T>
AttentionPrimitive<T>::AttentionPrimitive(const AttentionShape& shape, int threads,
                                          const Kernels& kernels, bool trains_mask)
    : shape_(shape), kernels_(&kernels), tile_rows_(tile_rows(shape)) {
  if (shape.count == 0 || shape.keys == 0) return;
  const std::int64_t rows =
      shape.masks > 0 ? std::max(tile_rows_, VisibleKeys<T>::tile_rows(shape)) : tile_rows_;
  if (sizeof(T) == sizeof(float) && RoundedHeads::takes(shape, kernels)) {
    rounded_ = std::make_shared<const RoundedHeads>(shape, rows, kernels);
  } else {
    const auto bytes =
        checked_mul(checked_mul(rows, shape.keys), static_cast<std::int64_t>(sizeof(T)));
    tile_bytes_ = align_up(static_cast<std::size_t>(bytes));
    products_ = std::make_shared<const std::array<Products, 2>>(
        std::array{make_products(shape, tile_rows_, kernels),
                   make_products(shape, shape.queries % tile_rows_, kernels)});
    product_bytes_ = product_bytes();
  }
  if (shape.masks > 0) mask_bytes_ = align_up(VisibleKeys<T>::bytes(shape));
  if (trains_mask && shape.masks > 0) {
    groups_ = groups_of_heads(shape);
    // The first group of a mask writes its gradient.
    const auto sums = checked_mul(shape.masks * (groups_ - 1), mask_elements());
    sum_bytes_ = align_up(static_cast<std::size_t>(checked_mul(sums, sizeof(T))));
  }
  workspace_ = mask_bytes_ + sum_bytes_ + ScratchPool::bytes(slot_bytes(), threads);
}

template <class T>
void AttentionPrimitive<T>::multiply(ThreadPool& pool, Product product, const Tile& tile,
                                     const T* a, const T* b, T* c, const GemmOptions<T>& options,
                                     std::byte* at) const {
  const std::int64_t rest = shape_.queries % tile_rows_;
  if (tile.keys.size == shape_.keys && (tile.rows == tile_rows_ || tile.rows == rest)) {
    const Products& products = (*products_)[tile.rows == tile_rows_ ? 0 : 1];
    return products[product].run(pool, {}, a, b, c, options, products_at(at));
  }
  const GemmShape shape = product_shape(product, shape_, tile.rows, tile.keys.size);
  GemmPrimitive<T>(shape, 1, 1, *kernels_).run(pool, {}, a, b, c, options, products_at(at));
}

// Where the keys of the tile begin in K or dK.
template <class T>
std::int64_t AttentionPrimitive<T>::key_offset(const Tile& tile) const {
  const AttentionShape& s = shape_;
  if (s.key_rows) return s.offset(tile.head, s.keys, tile.keys.begin, s.head_size);
  return tile.head * s.keys * s.head_size + tile.keys.begin;
}

template <class T>
typename AttentionPrimitive<T>::Run AttentionPrimitive<T>::begin(
    ThreadPool& pool, const AttentionScores<T>& scores, const AttentionOperands<T>& operands,
    const T* dy, void* workspace) const {
  Run run{pool, scores, operands, {}};
  if (scores.mask == nullptr || shape_.keys <= VisibleKeys<T>::block) return run;
  run.visible.emplace(shape_, scores, *kernels_, workspace);
  if (!run.visible->find(pool, operands, dy)) run.visible.reset();
  return run;
}

// Of a head, whether it hides keys or not.
template <class T>
std::int64_t AttentionPrimitive<T>::max_tiles(const Run& run) const {
  const std::int64_t rows =
      run.visible ? std::min(tile_rows_, VisibleKeys<T>::tile_rows(shape_)) : tile_rows_;
  return (shape_.queries + rows - 1) / rows;
}

template <class T>
typename AttentionPrimitive<T>::Tile AttentionPrimitive<T>::tile_of(const Run& run,
                                                                    std::int64_t head,
                                                                    std::int64_t index) const {
  const bool hides = run.hides(head);
  const std::int64_t rows = hides ? VisibleKeys<T>::tile_rows(shape_) : tile_rows_;
  const std::int64_t first = index * rows;
  if (first >= shape_.queries) return {};
  return {head, first, std::min(rows, shape_.queries - first),
          hides ? run.visible->range(head, index) : KeyRange{0, shape_.keys}};
}

template <class T>
void AttentionPrimitive<T>::weights(const Run& run, const Tile& tile, std::byte* at) const {
  const AttentionShape& s = shape_;
  T* const to = scores_at(at);
  multiply(run.pool, scores_product, tile,
           run.operands.q + s.offset(tile.head, s.queries, tile.first, s.head_size),
           run.operands.k + key_offset(tile), to, {.alpha = run.scores.scale}, at);
  const auto weights = kernel_set<T>(*kernels_).softmax->weights;
  const auto axpy = kernel_set<T>(*kernels_).vector->axpy;
  const auto [begin, n] = tile.keys;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    T* row = to + i * n;
    if (run.scores.mask != nullptr) {
      const std::int64_t mask_row = s.mask_per_query ? tile.first + i : 0;
      axpy(row, T{1}, run.scores.mask + run.scores.offsets[tile.head] + mask_row * s.keys + begin,
           n);
    }
    weights(row, row, n);
  }
}

template <class T>
void AttentionPrimitive<T>::run(ThreadPool& pool, const AttentionScores<T>& scores,
                                const AttentionOperands<T>& operands, T* y, void* workspace) const {
  const AttentionShape& s = shape_;
  if (s.count == 0 || s.queries == 0) return;
  if (s.keys == 0) {
    std::fill_n(y, s.count * s.queries * s.v_head_size, T{0});
    return;
  }
  const Run run = begin(pool, scores, operands, nullptr, workspace);
  const std::int64_t tiles = max_tiles(run);
  // Tiles of a head share packed factors, so that heads are cut only to keep all threads busy.
  const std::int64_t wanted = divide_up(2 * pool.threads(), s.count);
  const std::int64_t parts = rounded_ ? std::clamp<std::int64_t>(wanted, 1, tiles) : tiles;
  ScratchPool slots(slots_of(workspace), slot_bytes());
  slots.for_chunks(
      pool, s.count * parts, 1, [&](std::byte* at, std::int64_t begin, std::int64_t end) {
        for (auto index = begin; index < end; ++index) {
          const std::int64_t part = index % parts;
          run_tiles(run, index / parts, tiles * part / parts, tiles * (part + 1) / parts, y, at);
        }
      });
}

template <class T>
void AttentionPrimitive<T>::run_tiles(const Run& run, std::int64_t head, std::int64_t first,
                                      std::int64_t last, T* y, std::byte* at) const {
  const AttentionShape& s = shape_;
  if constexpr (sizeof(T) == sizeof(float)) {
    if (rounded_) rounded_->pack(run.operands, head, at);
  }
  for (std::int64_t i = first; i < last; ++i) {
    const Tile tile = tile_of(run, head, i);
    if (tile.rows == 0) continue;
    if constexpr (sizeof(T) == sizeof(float)) {
      if (rounded_) {
        rounded_->run(tile, run.scores, run.operands, y, at);
        continue;
      }
    }
    weights(run, tile, at);
    multiply(run.pool, y_product, tile, scores_at(at),
             run.operands.v + s.offset(head, s.keys, tile.keys.begin, s.v_head_size),
             y + s.offset(head, s.queries, tile.first, s.v_head_size), {}, at);
  }
}

template class AttentionPrimitive<float>;
template class AttentionPrimitive<double>;

}  // namespace ondine::math
