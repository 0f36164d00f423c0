// Evaluating a part of a graph again with other values for some of its tensors.
#pragma once

#include <map>
#include <set>

#include "graph/contract/builder.h"

namespace ondine::autodiff {

// Appends copies of the nodes between replaced tensors and a result; what does not depend on a
// replaced tensor is shared.
class Reevaluation {
 public:
  explicit Reevaluation(graph::Builder& builder) : builder_(&builder) {}

  // Replaces `named` by a fresh value that equals `at`, which is returned; the same one when a
  // tensor is named again with the same value.
  graph::Val replace(graph::Val named, graph::Val at);
  // `y` under the replacements. Call once.
  graph::Val evaluate(graph::Val y);

 private:
  graph::ValueId moved(graph::ValueId id) const;
  std::vector<bool> nodes_needed_for(graph::Val y) const;
  void copy_if_moved(graph::Node node);

  graph::Builder* builder_;
  std::map<graph::ValueId, graph::ValueId> moved_;
  std::set<graph::ValueId> replaced_;
  std::map<graph::ValueId, graph::ValueId> values_;  // of each named tensor
};

}  // namespace ondine::autodiff
