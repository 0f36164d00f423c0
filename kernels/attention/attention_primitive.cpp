#include "kernels/attention/attention_primitive.h"

#include <algorithm>

#include "core/checked.h"
#include "kernels/attention/plain_heads.h"
#include "kernels/attention/rounded_heads.h"
#include "kernels/common/rounding.h"
#include "kernels/common/stored_elements.h"

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

template <class T>
std::shared_ptr<const HeadKernel<T>> heads_of(const AttentionShape& shape, std::int64_t tile_rows,
                                              std::int64_t rows, const SimdTables& kernels) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (AttentionPrimitive<T>::takes_bf16(shape, kernels)) {
      return std::make_shared<const RoundedHeads>(shape, rows, kernels);
    }
  }
  return std::make_shared<const PlainHeads<T>>(shape, tile_rows, rows,
                                               without(kernels, ProductMode::split));
}

}  // namespace

template <class T>
bool AttentionPrimitive<T>::takes_bf16(const AttentionShape& shape, const SimdTables& kernels) {
  return sizeof(T) == sizeof(float) && shape.count > 0 && RoundedHeads::takes(shape, kernels);
}

template <class T>
AttentionPrimitive<T>::AttentionPrimitive(const AttentionShape& shape, int threads,
                                          const SimdTables& kernels, bool trains_mask)
    : shape_(shape), kernels_(&kernels), tile_rows_(tile_rows(shape)) {
  if (shape.count == 0 || shape.keys == 0) return;
  const std::int64_t rows =
      shape.has_masks() ? std::max(tile_rows_, VisibleKeys<T>::tile_rows(shape)) : tile_rows_;
  heads_ = heads_of<T>(shape, tile_rows_, rows, kernels);
  if (shape.has_masks()) {
    mask_bytes_ =
        std::max(VisibleKeys<T>::bytes(shape), VisibleKeys<T>::bytes(shape.with_masks_swapped()));
  }
  if (trains_mask && shape.masks > 0) {
    groups_ = groups_of_heads(shape);
    // The first group of a mask writes its gradient.
    sum_bytes_ = bytes_of<T>(checked_mul(shape.masks * (groups_ - 1), mask_elements()));
  }
  workspace_ = mask_bytes_ + sum_bytes_ + ScratchPool::bytes(slot_bytes(), threads);
}

template <class T>
typename AttentionPrimitive<T>::Run AttentionPrimitive<T>::begin(
    ThreadPool& pool, const AttentionScores<T>& scores, const AttentionOperands<T>& operands,
    const T* dy, void* workspace) const {
  if (!heads_->takes_bf16()) {
    for (const Elements<const T>& x : {operands.q, operands.k, operands.v}) {
      require_stored(x, Storage::plain);
    }
  }
  Run run{pool, scores, operands, {}};
  if (shape_.keys <= VisibleKeys<T>::block) return run;
  // Either mask may be the one that hides keys, as a causal one beside a bias of positions.
  const auto found = [&](const AttentionShape& shape, const AttentionScores<T>& by) {
    if (by.mask == nullptr) return false;
    run.visible.emplace(shape, by, *kernels_, workspace);
    return run.visible->find(pool, operands, dy);
  };
  // One that is replaced in places says too little.
  const bool by_mask = !replaces_mask(shape_.replaced) && found(shape_, scores);
  if (!by_mask && !found(shape_.with_masks_swapped(), scores.with_masks_swapped())) {
    run.visible.reset();
  }
  return run;
}

// Most tiles of a head, whether it hides keys or not.
template <class T>
std::int64_t AttentionPrimitive<T>::max_tiles(const Run& run) const {
  const std::int64_t rows =
      run.visible ? std::min(tile_rows_, VisibleKeys<T>::tile_rows(shape_)) : tile_rows_;
  return (shape_.queries + rows - 1) / rows;
}

template <class T>
AttentionTile AttentionPrimitive<T>::tile_of(const Run& run, std::int64_t head,
                                             std::int64_t index) const {
  const bool hides = run.hides(head);
  const std::int64_t rows = hides ? VisibleKeys<T>::tile_rows(shape_) : tile_rows_;
  const std::int64_t first = index * rows;
  if (first >= shape_.queries) return {};
  return {head, first, std::min(rows, shape_.queries - first),
          hides ? run.visible->range(head, index) : KeyRange{0, shape_.keys}};
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
  const std::int64_t parts = heads_->packs() ? std::clamp<std::int64_t>(wanted, 1, tiles) : tiles;
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
  heads_->pack(run.operands, head, at);
  for (std::int64_t i = first; i < last; ++i) {
    const AttentionTile tile = tile_of(run, head, i);
    if (tile.rows > 0) heads_->run(run.pool, tile, run.scores, run.operands, y, at);
  }
}

template class AttentionPrimitive<float>;
template class AttentionPrimitive<double>;

}  // namespace ondine::math
