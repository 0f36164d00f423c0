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

GemmShape score_shape(const AttentionShape& s, std::int64_t rows) {
  return {.m = rows, .n = s.keys, .k = s.features, .trans_b = s.key_rows};
}
GemmShape value_shape(const AttentionShape& s, std::int64_t rows) {
  return {.m = rows, .n = s.values, .k = s.keys};
}

// What one thread works with: two tiles of scores and memory for its products.
template <class T>
struct Slot {
  std::size_t tile, products;

  Slot(const AttentionShape& s, const Kernels& kernels) {
    const std::int64_t rows = tile_rows(s);
    const auto elements = checked_mul(rows, s.keys);
    tile = align_up(
        static_cast<std::size_t>(checked_mul(elements, static_cast<std::int64_t>(sizeof(T)))));
    products = 0;
    const auto need = [&](const GemmShape& shape) {
      products = std::max(products, gemm_workspace<T>(shape, 1, 1, kernels));
    };
    // The last tile may be cut in another way than the others.
    for (const std::int64_t r : {rows, s.queries % rows}) {
      need(score_shape(s, r));
      need(value_shape(s, r));
      need({.m = s.keys, .n = s.values, .k = r, .trans_a = true});
      need({.m = r, .n = s.keys, .k = s.values, .trans_b = true});
      need({.m = r, .n = s.features, .k = s.keys, .trans_b = !s.key_rows});
      need({.m = s.keys, .n = s.features, .k = r, .trans_a = true});
      need({.m = s.features, .n = s.keys, .k = r, .trans_a = true});
    }
  }
  std::size_t bytes() const { return 2 * tile + products; }
  T* scores(std::byte* at) const { return reinterpret_cast<T*>(at); }
  T* derivatives(std::byte* at) const { return reinterpret_cast<T*>(at + tile); }
  Workspace work(std::byte* at) const { return {at + 2 * tile, products}; }
};

// softmax(S) of `rows` queries from `first` on.
template <class T>
void weigh(ThreadPool& pool, const AttentionShape& s, const AttentionScores<T>& scores,
           std::int64_t head, std::int64_t first, std::int64_t rows, const T* q, const T* k, T* to,
           Workspace work, const Kernels& kernels) {
  gemm<T>(pool, score_shape(s, rows), q + (head * s.queries + first) * s.features,
          k + head * s.keys * s.features, to, {.alpha = scores.scale}, work, kernels);
  const auto softmax = kernel_set<T>(kernels).softmax->softmax;
  const auto axpy = kernel_set<T>(kernels).vector->axpy;
  for (std::int64_t i = 0; i < rows; ++i) {
    T* row = to + i * s.keys;
    if (scores.mask != nullptr) {
      axpy(row, T{1}, scores.mask + scores.offsets[head] + (first + i) * scores.row, s.keys);
    }
    softmax(row, row, s.keys);
  }
}

}  // namespace

template <class T>
std::size_t attention_workspace(const AttentionShape& shape, int threads, const Kernels& kernels) {
  if (shape.count == 0 || shape.keys == 0) return 0;
  return ScratchPool::bytes(Slot<T>(shape, kernels).bytes(), threads);
}

template <class T>
void attention(ThreadPool& pool, const AttentionShape& s, const AttentionScores<T>& scores,
               const T* q, const T* k, const T* v, T* y, Workspace workspace,
               const Kernels& kernels) {
  if (s.count == 0 || s.queries == 0) return;
  if (s.keys == 0) {
    std::fill_n(y, s.count * s.queries * s.values, T{0});
    return;
  }
  const Slot<T> slot(s, kernels);
  const std::int64_t rows = tile_rows(s);
  const std::int64_t tiles = (s.queries + rows - 1) / rows;
  ScratchPool slots(workspace, slot.bytes());
  slots.for_chunks(
      pool, s.count * tiles, 1, [&](std::byte* at, std::int64_t begin, std::int64_t end) {
        for (auto index = begin; index < end; ++index) {
          const std::int64_t head = index / tiles;
          const std::int64_t first = index % tiles * rows;
          const std::int64_t n = std::min(rows, s.queries - first);
          T* p = slot.scores(at);
          weigh(pool, s, scores, head, first, n, q, k, p, slot.work(at), kernels);
          gemm<T>(pool, value_shape(s, n), p, v + head * s.keys * s.values,
                  y + (head * s.queries + first) * s.values, {}, slot.work(at), kernels);
        }
      });
}

template <class T>
void attention_gradient(ThreadPool& pool, const AttentionShape& s, const AttentionScores<T>& scores,
                        const T* q, const T* k, const T* v, const T* dy, T* dq, T* dk, T* dv,
                        Workspace workspace, const Kernels& kernels) {
  if (s.count == 0) return;
  if (s.keys == 0 || s.queries == 0) {
    if (dq != nullptr) std::fill_n(dq, s.count * s.queries * s.features, T{0});
    if (dk != nullptr) std::fill_n(dk, s.count * s.keys * s.features, T{0});
    if (dv != nullptr) std::fill_n(dv, s.count * s.keys * s.values, T{0});
    return;
  }
  const Slot<T> slot(s, kernels);
  const std::int64_t rows = tile_rows(s);
  const auto softmax_gradient = kernel_set<T>(kernels).softmax->softmax_gradient;
  const auto head_gradient = [&](std::byte* at, std::int64_t head) {
    T* p = slot.scores(at);
    T* ds = slot.derivatives(at);
    const Workspace work = slot.work(at);
    const T* keys = k + head * s.keys * s.features;
    for (std::int64_t first = 0; first < s.queries; first += rows) {
      const std::int64_t n = std::min(rows, s.queries - first);
      const T onto = first == 0 ? T{0} : T{1};
      const T* queries = q + (head * s.queries + first) * s.features;
      const T* by_y = dy + (head * s.queries + first) * s.values;
      weigh(pool, s, scores, head, first, n, q, k, p, work, kernels);
      if (dv != nullptr) {
        gemm<T>(pool, {.m = s.keys, .n = s.values, .k = n, .trans_a = true}, p, by_y,
                dv + head * s.keys * s.values, {.beta = onto}, work, kernels);
      }
      if (dq == nullptr && dk == nullptr) continue;
      gemm<T>(pool, {.m = n, .n = s.keys, .k = s.values, .trans_b = true}, by_y,
              v + head * s.keys * s.values, ds, {}, work, kernels);
      for (std::int64_t i = 0; i < n; ++i) {
        softmax_gradient(ds + i * s.keys, ds + i * s.keys, p + i * s.keys, s.keys);
      }
      if (dq != nullptr) {
        gemm<T>(pool, {.m = n, .n = s.features, .k = s.keys, .trans_b = !s.key_rows}, ds, keys,
                dq + (head * s.queries + first) * s.features, {.alpha = scores.scale}, work,
                kernels);
      }
      if (dk == nullptr) continue;
      T* to = dk + head * s.keys * s.features;
      const GemmOptions<T> add{.alpha = scores.scale, .beta = onto};
      if (s.key_rows) {
        gemm<T>(pool, {.m = s.keys, .n = s.features, .k = n, .trans_a = true}, ds, queries, to, add,
                work, kernels);
      } else {
        gemm<T>(pool, {.m = s.features, .n = s.keys, .k = n, .trans_a = true}, queries, ds, to, add,
                work, kernels);
      }
    }
  };
  ScratchPool slots(workspace, slot.bytes());
  slots.for_chunks(pool, s.count, 1, [&](std::byte* at, std::int64_t begin, std::int64_t end) {
    for (auto head = begin; head < end; ++head) head_gradient(at, head);
  });
}

#define ONDINE_INSTANTIATE(T)                                                                  \
  template std::size_t attention_workspace<T>(const AttentionShape&, int, const Kernels&);     \
  template void attention<T>(ThreadPool&, const AttentionShape&, const AttentionScores<T>&,    \
                             const T*, const T*, const T*, T*, Workspace, const Kernels&);     \
  template void attention_gradient<T>(ThreadPool&, const AttentionShape&,                      \
                                      const AttentionScores<T>&, const T*, const T*, const T*, \
                                      const T*, T*, T*, T*, Workspace, const Kernels&);
ONDINE_INSTANTIATE(float)
ONDINE_INSTANTIATE(double)
#undef ONDINE_INSTANTIATE

}  // namespace ondine::math
