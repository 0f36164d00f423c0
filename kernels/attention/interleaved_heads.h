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

  std::int64_t count() const { return samples * rows * heads * size; }
  // body(first element of a row of a head as it lies, the same in a matrix of that head)
  template <class Body>
  void for_rows(ThreadPool& pool, Body&& body) const {
    const std::int64_t grain = std::max<std::int64_t>(1, convert_grain / (heads * size + 1));
    pool.for_chunks(samples * rows, grain, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) {
        for (std::int64_t head = 0; head < heads; ++head) {
          body((i * heads + head) * size, ((i / rows * heads + head) * rows + i % rows) * size);
        }
      }
    });
  }
};

template <class C>
class HeadsIn {
 public:
  HeadsIn(const graph::BindContext& context, Scratch& scratch, std::size_t index,
          const HeadRows& rows)
      : source_(context, scratch, index), rows_(rows) {
    if (rows.heads > 1) offset_ = scratch.add<C>(rows.count());
  }
  const C* operator()(graph::KernelContext& call) const {
    const C* const from = source_(call);
    if (rows_.heads <= 1) return from;
    C* const to = Scratch::at<C>(call, offset_);
    rows_.for_rows(call.pool(), [&](std::int64_t lies, std::int64_t apart) {
      std::copy_n(from + lies, rows_.size, to + apart);
    });
    return to;
  }

 private:
  ComputeIn<C> source_;
  HeadRows rows_;
  std::size_t offset_ = 0;
};

// Write to data(), then call store().
template <class C>
class HeadsOut {
 public:
  HeadsOut(const graph::BindContext& context, Scratch& scratch, std::size_t index,
           const HeadRows& rows)
      : target_(context, scratch, index, rows.count()), rows_(rows) {
    if (rows.heads > 1 && target_) offset_ = scratch.add<C>(rows.count());
  }
  C* data(graph::KernelContext& call) const {
    return rows_.heads > 1 && target_ ? Scratch::at<C>(call, offset_) : target_.data(call);
  }
  void store(graph::KernelContext& call) const {
    if (rows_.heads > 1 && target_) {
      const C* const from = Scratch::at<C>(call, offset_);
      C* const to = target_.data(call);
      rows_.for_rows(call.pool(), [&](std::int64_t lies, std::int64_t apart) {
        std::copy_n(from + apart, rows_.size, to + lies);
      });
    }
    target_.store(call);
  }

 private:
  ComputeOut<C> target_;
  HeadRows rows_;
  std::size_t offset_ = 0;
};

}  // namespace ondine::kernels::ops
