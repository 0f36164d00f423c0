// Re-evaluation of a part of a graph with other values for some of its tensors.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "autodiff/dataflow.h"
#include "graph/contract/builder.h"

namespace ondine::autodiff {

// Appends copies of the nodes between replaced tensors and a result. Values that do not depend on a
// replaced tensor are shared.
class Reevaluation {
 public:
  Reevaluation(graph::Builder& builder, Dataflow& flow) : builder_(&builder), flow_(&flow) {}

  // Replaces `named` by a new value equal to `at` and returns that. Returns the previous one when a
  // tensor is replaced by the same value twice.
  graph::Val replace(graph::Val named, graph::Val at);
  // The value of `y` under the replacements. To be called once.
  graph::Val evaluate(graph::Val y);

 private:
  graph::ValueId replacement(graph::ValueId id) const;
  std::vector<std::size_t> nodes_needed_for(graph::Val y);  // positions, in order
  void copy_if_affected(graph::Node node);

  graph::Builder* builder_;
  Dataflow* flow_;
  std::map<graph::ValueId, graph::ValueId> replacements_;
  std::set<graph::ValueId> replaced_;
  std::map<graph::ValueId, graph::ValueId> values_;  // of each named tensor
};

}  // namespace ondine::autodiff
