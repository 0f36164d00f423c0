// Reverse-mode differentiation of a graph: appends the derivative as ordinary nodes.
#pragma once

#include <span>
#include <vector>

#include "autodiff/dataflow.h"
#include "graph/contract/builder.h"

namespace ondine::autodiff {

// Appends the derivatives of sum_k <ys[k], dys[k]> with respect to each x; all are values of the
// builder's graph. `xs` and `cuts` count as leaves, independent of all other values. Returns an
// empty Val where no y depends on x. Throws Error(unsupported) naming an operator without
// derivative on a path from an x to a y.
std::vector<graph::Val> backward(graph::Builder& builder, std::span<const graph::Val> ys,
                                 std::span<const graph::Val> dys, std::span<const graph::Val> xs,
                                 std::span<const graph::Val> cuts = {});
// Like backward() above, for one of many differentiations in a graph that share `flow`: the work is
// proportional to the part of the graph between the xs and the ys.
std::vector<graph::Val> backward(graph::Builder& builder, Dataflow& flow,
                                 std::span<const graph::Val> ys, std::span<const graph::Val> dys,
                                 std::span<const graph::Val> xs, std::span<const graph::Val> cuts);

// Whether a value of this type can carry a derivative.
bool differentiable(const graph::Type& type);

}  // namespace ondine::autodiff
