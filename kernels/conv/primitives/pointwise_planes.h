// Shared by pointwise convolutions over planes and their gradients: products of some positions at a
// time.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/common/primitive.h"
#include "kernels/conv/algorithms/algorithm.h"
#include "kernels/conv/sources/grouped_sums.h"

namespace ondine::math {

// Whether a convolution of normalized planes is one of products of its own planes. Smaller planes
// of several images are joined, which needs them as a whole.
inline bool is_pointwise_of_large_planes(const ConvShape& shape) {
  constexpr std::int64_t least_positions = 196;
  return is_pointwise(shape) && shape.groups == 1 && volume(shape.in) >= least_positions;
}

template <class T, class Args>
class PointwisePlanes : public Implementation<Args> {
 public:
  std::size_t workspace() const override { return workspace_; }

 protected:
  using Index = std::int64_t;

  static constexpr Index block_bytes = 512 * 1024;  // of what is to stay in a second cache
  static constexpr Index least_positions = 64;      // of a block, for products need some columns
  static constexpr Index work_of_task = Index{1} << 18;

  PointwisePlanes(const ConvShape& shape, const SimdTables& kernels)
      : set_(tables_of<T>(kernels)),
        batch_(shape.batch),
        in_(shape.in_channels),
        out_(shape.out_channels),
        positions_(volume(shape.in)) {}

  // A product of m x k by k x n elements, without pointers. Strides: from an element of A to the
  // next row and to the next column, of B, from a row of C to the next.
  GemmCall<T> product(Index m, Index n, Index k, const std::array<Index, 5>& strides) const {
    GemmCall<T> call{};
    call.m = m;
    call.n = n;
    call.k = k;
    call.a_row = strides[0];
    call.a_col = strides[1];
    call.b_row = strides[2];
    call.b_col = strides[3];
    call.ldc = strides[4];
    call.alpha = 1;
    call.splits = splits_factors(call, set_);
    return call;
  }

  void plan_sums(Index groups, int threads) {
    groups_ = groups;
    sums_bytes_ = bytes_of<T>((groups - 1) * in_ * out_);
    workspace_ = sums_bytes_ + ScratchPool::bytes(slot_bytes_, threads);
  }
  // body(group, task, slot, sums of the group) for `tasks` of each group, of `work` operations
  // each, as plan_sums() planned. dw is the sum of all groups, in their order.
  template <class Body>
  void sum_groups(ThreadPool& pool, Workspace workspace, Index tasks, Index work, T* dw,
                  const Body& body) const {
    auto* const memory = static_cast<std::byte*>(workspace.data);
    T* const sums = reinterpret_cast<T*>(memory);
    ScratchPool({memory + sums_bytes_, workspace.bytes - sums_bytes_}, slot_bytes_)
        .for_chunks(pool, groups_ * tasks, grain_of(work, work_of_task),
                    [&](std::byte* slot, Index i, Index last) {
                      for (; i < last; ++i) {
                        const Index group = i / tasks;
                        body(group, i % tasks, slot,
                             group == 0 ? dw : sums + (group - 1) * in_ * out_);
                      }
                    });
    add_groups(pool, set_, sums, groups_ - 1, in_ * out_, dw);
  }

  const SimdTablesOf<T>& set_;
  Index batch_, in_, out_, positions_;  // in_, out_: channels; positions_: of a plane
  Index groups_ = 0;                    // that are summed apart
  std::size_t sums_bytes_ = 0, slot_bytes_ = 0, workspace_ = 0;
};

}  // namespace ondine::math
