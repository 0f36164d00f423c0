// What the passes share: replacing values and reaching into subgraphs.
#pragma once

#include <vector>

#include "graph/passes/pass.h"

namespace ondine::graph {

// Which values replace which others.
class Substitution {
 public:
  explicit Substitution(const Graph& graph);

  void replace(ValueId old_value, ValueId new_value);
  ValueId operator[](ValueId id) const;
  // Inputs, captures and references of the node. Whether one was replaced.
  bool apply(Node& node) const;

 private:
  std::vector<ValueId> targets_;
};

// A flag for each value.
std::vector<bool> output_flags(const Graph& graph);    // outputs of the graph
std::vector<bool> produced_flags(const Graph& graph);  // outputs of its nodes

// Runs `pass` on a copy of each subgraph of the node and keeps the copy when it changed.
bool run_on_subgraphs(Node& node, const Pass& pass, const PassContext& context);

// Whether all outputs of the node that are wanted fulfil `holds(ValueId)`.
template <class Holds>
bool all_outputs(const Node& node, Holds holds) {
  for (const ValueId output : node.outputs) {
    if (output != no_value && !holds(output)) return false;
  }
  return true;
}

}  // namespace ondine::graph
