// Which nodes of a training step make up its end, the commit section.
#pragma once

#include <span>
#include <vector>

#include "graph/ir/graph.h"
#include "trainer/plan/order.h"

namespace ondine::trainer {

// One flag for each node of a typed graph: it may run after everything else, in the memory of the
// variables whose next values it computes, because
//  - its kernel cannot fail once it is bound,
//  - every output is one of `targets` (a flag for each value) and nothing reads it,
//  - what it writes in place (`in_place`, as for order_nodes) takes at least as many bytes as the
//    inputs that wait for it until then.
std::vector<bool> choose_commits(const graph::Graph& graph, const std::vector<bool>& targets,
                                 std::span<const InPlace> in_place);

}  // namespace ondine::trainer
