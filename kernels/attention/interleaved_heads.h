// Operands of attention whose heads lie beside each other, row by row. Long sequences, whose keys
// are read once for each tile of queries, are copied to matrices of each head.
#pragma once

#include <algorithm>

#include "kernels/common/compute_type.h"

namespace ondine::kernels::ops {

// `samples` x rows x heads x size in memory, to be seen as samples x heads x rows x size. heads is
// 1 where the operand is used as it lies.
struct HeadRows {
  std::int64_t samples, rows, heads, size;
  std::int64_t packed = 1;  // operands that lie beside each other, row by row

  std::int64_t count() const { return samples * rows * heads * size; }
  // body(first element of a row of a head as it lies, the same in a matrix of that head)
  template <class Body>
  void for_rows(ThreadPool& pool, Body&& body) const {
    const std::int64_t grain = std::max<std::int64_t>(1, convert_grain / (heads * size + 1));
    pool.for_chunks(samples * rows, grain, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) {
        for (std::int64_t head = 0; head < heads; ++head) {
          body((i * packed * heads + head) * size,
               ((i / rows * heads + head) * rows + i % rows) * size);
        }
      }
    });
  }
};

// Memory for the matrices of each head, where they are copied.
template <class C>
class HeadMatrices {
 public:
  HeadMatrices() = default;
  HeadMatrices(Scratch& scratch, const HeadRows& rows, bool wanted) : rows_(rows) {
    copied_ = rows.heads > 1 && wanted;
    if (copied_) offset_ = scratch.add<C>(rows.count());
  }
  // An operand that lies at `from`.
  math::Elements<const C> read(graph::KernelContext& call, math::Elements<const C> from) const {
    if (!copied_) return from;
    C* const to = Scratch::at<C>(call, offset_);
    rows_.for_rows(call.pool(), [&](std::int64_t lies, std::int64_t apart) {
      std::copy_n(from.plain() + lies, rows_.size, to + apart);
    });
    return to;
  }
  // Where a result is computed that `store` then writes to `to`.
  C* data(graph::KernelContext& call, C* to) const {
    return copied_ ? Scratch::at<C>(call, offset_) : to;
  }
  void store(graph::KernelContext& call, C* to) const {
    if (!copied_) return;
    const C* const from = Scratch::at<C>(call, offset_);
    rows_.for_rows(call.pool(), [&](std::int64_t lies, std::int64_t apart) {
      std::copy_n(from + apart, rows_.size, to + lies);
    });
  }

 private:
  HeadRows rows_{};
  bool copied_ = false;
  std::size_t offset_ = 0;
};

template <class C>
class HeadsIn {
 public:
  HeadsIn(const graph::BindContext& context, Scratch& scratch, std::size_t index,
          const HeadRows& rows)
      : source_(context, scratch, index), matrices_(scratch, rows, true) {}
  const C* operator()(graph::KernelContext& call) const {
    return matrices_.read(call, source_(call)).plain();
  }

 private:
  ComputeIn<C> source_;
  HeadMatrices<C> matrices_;
};

// Write to data(), then call store().
template <class C>
class HeadsOut {
 public:
  HeadsOut(const graph::BindContext& context, Scratch& scratch, std::size_t index,
           const HeadRows& rows)
      : target_(context, scratch, index, rows.count()), matrices_(scratch, rows, bool{target_}) {}
  C* data(graph::KernelContext& call) const { return matrices_.data(call, target_.data(call)); }
  void store(graph::KernelContext& call) const {
    matrices_.store(call, target_.data(call));
    target_.store(call);
  }

 private:
  ComputeOut<C> target_;
  HeadMatrices<C> matrices_;
};

}  // namespace ondine::kernels::ops
