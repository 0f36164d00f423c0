// The gradients of attention, tile by tile.
#include <algorithm>
#include <utility>

#include "kernels/attention/attention_primitive.h"
#include "kernels/simd/tables.h"
#include "kernels/simd/vector/vector_table.h"

namespace ondine::math {
namespace {

template <class T>
void fill_zeros(T* to, std::int64_t n) {
  if (to != nullptr) std::fill_n(to, n, T{0});
}

// Clears the gradients of the keys and values of a head.
template <class T>
void clear_keys(const AttentionGradients<T>& to, const AttentionShape& s, std::int64_t head) {
  const auto clear = [](T* first, std::int64_t rows, std::int64_t step, std::int64_t size) {
    for (std::int64_t row = 0; row < rows; ++row) std::fill_n(first + row * step, size, T{0});
  };
  if (to.dk != nullptr) {
    const auto [rows, size] =
        s.key_rows ? std::pair(s.keys, s.head_size) : std::pair(s.head_size, s.keys);
    clear(to.dk + s.k_offset(head, 0), rows, s.k_row(), size);
  }
  if (to.dv != nullptr) clear(to.dv + s.v_offset(head, 0), s.keys, s.v_row(), s.v_head_size);
}

}  // namespace

template <class T>
void AttentionPrimitive<T>::head_gradient(const Run& run, const T* dy,
                                          const AttentionGradients<T>& gradients, std::int64_t head,
                                          std::byte* at) const {
  const AttentionShape& s = shape_;
  const std::int64_t tiles = max_tiles(run);
  heads_->pack_gradient(run.operands, head, at);
  // In causal attention the last queries see all keys.
  const bool backwards = run.hides(head);
  // Heads that share keys add to the gradients that the first of them writes.
  bool begun = head % s.group != 0;
  for (std::int64_t i = 0; i < tiles; ++i) {
    const AttentionTile tile = tile_of(run, head, backwards ? tiles - 1 - i : i);
    if (tile.rows == 0) continue;
    if (!begun && tile.keys.size < s.keys) {
      clear_keys(gradients, s, head);
      begun = true;
    }
    heads_->run_gradient(run.pool, tile, run.scores, run.operands, dy, gradients,
                         begun ? T{1} : T{0}, at);
    begun = true;
  }
}

template <class T>
void AttentionPrimitive<T>::mask_gradient(const Run& run, const T* dy,
                                          const AttentionGradients<T>& gradients, T* sums,
                                          ScratchPool& slots) const {
  const AttentionShape& s = shape_;
  const std::int64_t elements = mask_elements();
  const std::int64_t heads = s.count / s.masks;  // of each mask
  const auto sum_of = [&](std::int64_t mask, std::int64_t group) {
    return group == 0 ? gradients.dmask + mask * elements
                      : sums + (mask * (groups_ - 1) + group - 1) * elements;
  };
  const auto run_group = [&](std::int64_t mask, std::int64_t group, std::byte* at) {
    const std::int64_t* const of_mask = run.scores.heads_by_mask + mask * heads;
    AttentionGradients<T> own = gradients;
    own.dmask = sum_of(run.scores.offsets[*of_mask] / elements, group);
    fill_zeros(own.dmask, elements);
    for (auto i = heads * group / groups_; i < heads * (group + 1) / groups_; ++i) {
      head_gradient(run, dy, own, of_mask[i], at);
    }
  };
  slots.for_chunks(run.pool, s.masks * groups_, 1,
                   [&](std::byte* at, std::int64_t begin, std::int64_t end) {
                     for (auto i = begin; i < end; ++i) run_group(i / groups_, i % groups_, at);
                   });
  if (groups_ == 1) return;
  constexpr std::int64_t grain = 4096;
  const auto axpy = tables_of<T>(*kernels_).vector->axpy;
  const std::int64_t chunks = (elements + grain - 1) / grain;
  run.pool.for_chunks(s.masks * chunks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) {
      const std::int64_t first = i % chunks * grain;
      for (std::int64_t group = 1; group < groups_; ++group) {
        axpy(sum_of(i / chunks, 0) + first, T{1}, sum_of(i / chunks, group) + first,
             std::min(grain, elements - first));
      }
    }
  });
}

template <class T>
void AttentionPrimitive<T>::run_gradient(ThreadPool& pool, const AttentionScores<T>& scores,
                                         const AttentionOperands<T>& operands, const T* dy,
                                         const AttentionGradients<T>& gradients,
                                         void* workspace) const {
  const AttentionShape& s = shape_;
  if (s.count == 0 || s.keys == 0 || s.queries == 0) {
    fill_zeros(gradients.dq, s.count * s.queries * s.head_size);
    fill_zeros(gradients.dk, s.count / s.group * s.keys * s.head_size);
    fill_zeros(gradients.dv, s.count / s.group * s.keys * s.v_head_size);
    fill_zeros(gradients.dmask, s.masks * mask_elements());
    return;
  }
  const Run run = begin(pool, scores, operands, dy, workspace);
  ScratchPool slots(slots_of(workspace), slot_bytes());
  AttentionGradients<T> rest = gradients;
  if (gradients.dmask != nullptr) {
    if (s.group == 1) return mask_gradient(run, dy, gradients, sums_of(workspace), slots);
    // The order of heads by masks is not that by keys.
    mask_gradient(run, dy, {nullptr, nullptr, nullptr, gradients.dmask}, sums_of(workspace), slots);
    rest.dmask = nullptr;
    if (rest.dq == nullptr && rest.dk == nullptr && rest.dv == nullptr) return;
  }
  slots.for_chunks(pool, s.count / s.group, 1,
                   [&](std::byte* at, std::int64_t begin, std::int64_t end) {
                     for (auto head = begin * s.group; head < end * s.group; ++head) {
                       head_gradient(run, dy, rest, head, at);
                     }
                   });
}

template void AttentionPrimitive<float>::run_gradient(ThreadPool& pool,
                                                      const AttentionScores<float>& scores,
                                                      const AttentionOperands<float>& operands,
                                                      const float* dy,
                                                      const AttentionGradients<float>& gradients,
                                                      void* workspace) const;
template void AttentionPrimitive<double>::run_gradient(ThreadPool& pool,
                                                       const AttentionScores<double>& scores,
                                                       const AttentionOperands<double>& operands,
                                                       const double* dy,
                                                       const AttentionGradients<double>& gradients,
                                                       void* workspace) const;

}  // namespace ondine::math
