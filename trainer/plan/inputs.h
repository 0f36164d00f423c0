// The values that a node reads.
#pragma once

#include "graph/ir/graph.h"

namespace ondine::trainer {

// visit(ValueId) for each of Node::all_inputs() but no_value, in order.
template <class Visit>
void for_each_input(const graph::Node& node, const Visit& visit) {
  for (const graph::ValueId id : node.all_inputs()) {
    if (id != graph::no_value) visit(id);
  }
}

}  // namespace ondine::trainer
