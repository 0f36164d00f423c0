// Reverse-mode differentiation on the graph: the derivative is appended as ordinary nodes.
#pragma once

#include <span>
#include <vector>

#include "graph/contract/builder.h"

namespace ondine::autodiff {

// Appends the derivatives of sum_k <ys[k], dys[k]> with respect to each x, all values of the
// builder's graph. `xs` and `cuts` are leaves: what they are computed from does not matter. An
// empty Val where no y depends on x. Throws Error(unsupported) naming the operator when a path that
// matters meets one without a derivative.
std::vector<graph::Val> backward(graph::Builder& builder, std::span<const graph::Val> ys,
                                 std::span<const graph::Val> dys, std::span<const graph::Val> xs,
                                 std::span<const graph::Val> cuts = {});

// Whether a value of this type can carry a derivative.
bool differentiable(const graph::Type& type);

}  // namespace ondine::autodiff
