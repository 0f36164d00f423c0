// Heads of attention: side by side in the last axis or an axis of their own, and attention in which
// several heads of the queries share one of the keys and values.
#pragma once

#include "graph/contract/builder.h"

namespace ondine::kernels {

// Query head h of [batch, heads, steps, features] uses key head h / (query heads / key heads). The
// products are made with one more axis, so that keys are not copied.
class SharedHeads {
 public:
  SharedHeads(graph::Val q, graph::Val k);

  // [batch, q heads, a, b] -> [batch, k heads, group, a, b], and back.
  graph::Val split(graph::Val x) const;
  graph::Val join(graph::Val x) const;
  // [batch, k heads, a, b] -> [batch, k heads, 1, a, b].
  graph::Val keys(graph::Val x) const;

  // [batch, q heads, a, b] -> [batch, k heads, group a, b], and back: the queries that share keys
  // under one another.
  graph::Val stack(graph::Val x) const;
  graph::Val unstack(graph::Val x) const;
  // A mask that broadcasts to [batch, q heads, a, b], stacked. Empty where its heads or rows are
  // not known, or heads of their own share a row.
  graph::Val stack_mask(graph::Val mask) const;

 private:
  graph::Val group() const;

  bool shared_;
  graph::Val q_heads_, k_heads_;
};

// [batch, steps, heads features] -> [batch, steps, heads, features], and back. Extents may be 0.
graph::Val split_heads(graph::Val x, std::int64_t heads);
graph::Val join_heads(graph::Val x);

}  // namespace ondine::kernels
