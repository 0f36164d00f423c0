#include "kernels/attention/attention_primitive.h"

#include <algorithm>

#include "core/checked.h"
#include "kernels/common/scratch_pool.h"
#include "kernels/simd/norm/softmax_table.h"
#include "kernels/simd/tables.h"
#include "kernels/simd/vector/vector_table.h"

namespace ondine::math {
namespace {

// Rows of queries of a tile: its scores stay in a second cache.
std::int64_t tile_rows(const AttentionShape& s) {
  constexpr std::int64_t elements = 32768;
  const std::int64_t rows =
      std::clamp<std::int64_t>(elements / std::max<std::int64_t>(1, s.keys), 16, 256);
  return std::clamp<std::int64_t>(s.queries, 1, rows);
}

template <class T>
void fill_zeros(T* to, std::int64_t n) {
  if (to != nullptr) std::fill_n(to, n, T{0});
}

}  // namespace

// A thread computes a tile alone.
template <class T>
AttentionPrimitive<T>::TileProducts::TileProducts(const AttentionShape& s, std::int64_t rows,
                                                  const Kernels& kernels)
    : scores({.m = rows, .n = s.keys, .k = s.head_size, .trans_b = s.key_rows}, 1, 1, kernels),
      y({.m = rows, .n = s.v_head_size, .k = s.keys}, 1, 1, kernels),
      dv({.m = s.keys, .n = s.v_head_size, .k = rows, .trans_a = true}, 1, 1, kernels),
      ds({.m = rows, .n = s.keys, .k = s.v_head_size, .trans_b = true}, 1, 1, kernels),
      dq({.m = rows, .n = s.head_size, .k = s.keys, .trans_b = !s.key_rows}, 1, 1, kernels),
      dk({.m = s.key_rows ? s.keys : s.head_size,
          .n = s.key_rows ? s.head_size : s.keys,
          .k = rows,
          .trans_a = true},
         1, 1, kernels) {}

template <class T>
std::size_t AttentionPrimitive<T>::TileProducts::workspace() const {
  return std::max({scores.workspace(), y.workspace(), dv.workspace(), ds.workspace(),
                   dq.workspace(), dk.workspace()});
}

template <class T>
AttentionPrimitive<T>::AttentionPrimitive(const AttentionShape& shape, int threads,
                                          const Kernels& kernels)
    : shape_(shape), kernels_(&kernels), tile_rows_(tile_rows(shape)) {
  if (shape.count == 0 || shape.keys == 0) return;
  const auto bytes =
      checked_mul(checked_mul(tile_rows_, shape.keys), static_cast<std::int64_t>(sizeof(T)));
  tile_bytes_ = align_up(static_cast<std::size_t>(bytes));
  products_ = std::make_shared<const std::array<TileProducts, 2>>(
      std::array{TileProducts(shape, tile_rows_, kernels),
                 TileProducts(shape, shape.queries % tile_rows_, kernels)});
  product_bytes_ = std::max((*products_)[0].workspace(), (*products_)[1].workspace());
  workspace_ = ScratchPool::bytes(slot_bytes(), threads);
}

template <class T>
void AttentionPrimitive<T>::weights(ThreadPool& pool, const AttentionScores<T>& scores,
                                    const AttentionOperands<T>& operands, const Tile& tile,
                                    std::byte* at) const {
  const AttentionShape& s = shape_;
  T* const to = scores_at(at);
  products_of(tile).scores.run(
      pool, {}, operands.q + (tile.head * s.queries + tile.first) * s.head_size,
      operands.k + tile.head * s.keys * s.head_size, to, {.alpha = scores.scale}, products_at(at));
  const auto softmax = kernel_set<T>(*kernels_).softmax->softmax;
  const auto axpy = kernel_set<T>(*kernels_).vector->axpy;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    T* row = to + i * s.keys;
    if (scores.mask != nullptr) {
      axpy(row, T{1}, scores.mask + scores.offsets[tile.head] + (tile.first + i) * scores.row,
           s.keys);
    }
    softmax(row, row, s.keys);
  }
}

template <class T>
void AttentionPrimitive<T>::run(ThreadPool& pool, const AttentionScores<T>& scores,
                                const AttentionOperands<T>& operands, T* y, void* workspace) const {
  const AttentionShape& s = shape_;
  if (s.count == 0 || s.queries == 0) return;
  if (s.keys == 0) return fill_zeros(y, s.count * s.queries * s.v_head_size);
  const std::int64_t tiles = (s.queries + tile_rows_ - 1) / tile_rows_;
  ScratchPool slots({workspace, workspace_}, slot_bytes());
  slots.for_chunks(
      pool, s.count * tiles, 1, [&](std::byte* at, std::int64_t begin, std::int64_t end) {
        for (auto index = begin; index < end; ++index) {
          const std::int64_t first = index % tiles * tile_rows_;
          const Tile tile{index / tiles, first, std::min(tile_rows_, s.queries - first)};
          weights(pool, scores, operands, tile, at);
          products_of(tile).y.run(
              pool, {}, scores_at(at), operands.v + tile.head * s.keys * s.v_head_size,
              y + (tile.head * s.queries + first) * s.v_head_size, {}, products_at(at));
        }
      });
}

template <class T>
void AttentionPrimitive<T>::tile_gradient(ThreadPool& pool, const AttentionScores<T>& scores,
                                          const AttentionOperands<T>& operands, const T* dy,
                                          const AttentionGradients<T>& gradients, const Tile& tile,
                                          std::byte* at) const {
  const AttentionShape& s = shape_;
  const auto [head, first, n] = tile;
  const auto [dq, dk, dv] = gradients;
  T* const p = scores_at(at);
  T* const ds = derivatives_at(at);
  const TileProducts& products = products_of(tile);
  const Workspace work = products_at(at);
  const std::int64_t keys = head * s.keys * s.head_size;
  const std::int64_t queries = (head * s.queries + first) * s.head_size;
  const std::int64_t values = head * s.keys * s.v_head_size;
  const T* const tile_dy = dy + (head * s.queries + first) * s.v_head_size;
  const T beta = first == 0 ? T{0} : T{1};
  weights(pool, scores, operands, tile, at);
  if (dv != nullptr) {
    products.dv.run(pool, {}, p, tile_dy, dv + values, {.beta = beta}, work);
  }
  if (dq == nullptr && dk == nullptr) return;
  products.ds.run(pool, {}, tile_dy, operands.v + values, ds, {}, work);
  const auto softmax_gradient = kernel_set<T>(*kernels_).softmax->softmax_gradient;
  for (std::int64_t i = 0; i < n; ++i) {
    softmax_gradient(ds + i * s.keys, ds + i * s.keys, p + i * s.keys, s.keys);
  }
  if (dq != nullptr) {
    products.dq.run(pool, {}, ds, operands.k + keys, dq + queries, {.alpha = scores.scale}, work);
  }
  if (dk == nullptr) return;
  const T* const tile_q = operands.q + queries;
  products.dk.run(pool, {}, s.key_rows ? ds : tile_q, s.key_rows ? tile_q : ds, dk + keys,
                  {.alpha = scores.scale, .beta = beta}, work);
}

template <class T>
void AttentionPrimitive<T>::run_gradient(ThreadPool& pool, const AttentionScores<T>& scores,
                                         const AttentionOperands<T>& operands, const T* dy,
                                         const AttentionGradients<T>& gradients,
                                         void* workspace) const {
  const AttentionShape& s = shape_;
  if (s.count == 0) return;
  if (s.keys == 0 || s.queries == 0) {
    fill_zeros(gradients.dq, s.count * s.queries * s.head_size);
    fill_zeros(gradients.dk, s.count * s.keys * s.head_size);
    fill_zeros(gradients.dv, s.count * s.keys * s.v_head_size);
    return;
  }
  ScratchPool slots({workspace, workspace_}, slot_bytes());
  slots.for_chunks(pool, s.count, 1, [&](std::byte* at, std::int64_t begin, std::int64_t end) {
    for (auto head = begin; head < end; ++head) {
      for (std::int64_t first = 0; first < s.queries; first += tile_rows_) {
        const Tile tile{head, first, std::min(tile_rows_, s.queries - first)};
        tile_gradient(pool, scores, operands, dy, gradients, tile, at);
      }
    }
  });
}

template class AttentionPrimitive<float>;
template class AttentionPrimitive<double>;

}  // namespace ondine::math
