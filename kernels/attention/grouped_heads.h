// Grouped-query attention, in which several query heads share a head of keys and values, and the
// split of the last axis into heads.
#pragma once

#include "graph/contract/builder.h"

namespace ondine::kernels {

// Query head h of [batch, heads, sequence_length, head_size] uses key head h / (query heads / key
// heads). Products have one more axis, so that keys are not copied.
class SharedHeads {
 public:
  SharedHeads(graph::Val q, graph::Val k);

  // [batch, q heads, a, b] -> [batch, k heads, group, a, b], and back.
  graph::Val split(graph::Val x) const;
  graph::Val join(graph::Val x) const;
  // [batch, k heads, a, b] -> [batch, k heads, 1, a, b].
  graph::Val keys(graph::Val x) const;

  // [batch, q heads, a, b] -> [batch, k heads, group a, b], and back: the queries that share keys
  // are rows of one matrix.
  graph::Val stack(graph::Val x) const;
  graph::Val unstack(graph::Val x) const;
  // A mask that broadcasts to [batch, q heads, a, b], stacked. Empty where its heads are unknown or
  // its rows are neither known nor certainly those of q, or where it has several heads but one row.
  graph::Val stack_mask(graph::Val mask) const;

 private:
  graph::Val group() const;

  bool shared_;
  graph::Dim q_rows_;
  graph::Val q_heads_, k_heads_;
};

// [batch, sequence_length, heads head_size] -> [batch, sequence_length, heads, head_size], and
// back. Dims may be 0.
graph::Val split_heads(graph::Val x, std::int64_t heads);
graph::Val join_heads(graph::Val x);

}  // namespace ondine::kernels
