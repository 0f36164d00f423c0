// The commit section of a training step: the nodes that run last and cannot fail.
#pragma once

#include <span>
#include <vector>

#include "graph/ir/graph.h"
#include "trainer/plan/schedule/commit_scope.h"

namespace ondine::trainer {

// Whether the bound kernel of a node of a typed graph neither throws nor allocates.
bool cannot_fail(const graph::Node& node, const graph::Graph& graph);

// One flag per node of a typed graph, with CommitScope::updates: whether it may run after
// everything else. An update may, which writes directly to the variables whose next values it
// computes, if
//  - its kernel cannot fail once bound,
//  - every output is one of `targets` (one flag per value) and nothing reads it,
//  - the bytes it writes in place (`in_place`, as for order_nodes) are at least those of the inputs
//    that must be kept for it until then;
// and so may a node whose results only such updates read, if
//  - its kernel cannot fail once bound,
//  - its inputs are made in the arena, by nodes, or lie where no update writes,
//  - its results are larger than what must be kept for it until then, by 1 MiB or more.
// Gradients are then computed one after the other and reuse the same memory. A node that adds to
// the result of another, in place, is taken with it.
//
// With CommitScope::all: whether it may run after every node that can fail and every output that
// is no target. An update is left out only if all its inputs exist before and are larger than what
// it writes in place.
std::vector<bool> choose_commits(const graph::Graph& graph, const std::vector<bool>& targets,
                                 std::span<const InPlace> in_place,
                                 CommitScope scope = CommitScope::updates);

}  // namespace ondine::trainer
