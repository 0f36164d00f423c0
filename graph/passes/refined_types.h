// Inferring the types of a graph's values again, behind those that became more precise.
#pragma once

#include <vector>

#include "graph/ir/graph.h"

namespace ondine::graph {

// Visits nodes in their order. Values that are added to the graph meanwhile are not followed.
class RefinedTypes {
 public:
  explicit RefinedTypes(Graph& graph) : graph_(graph), refined_(graph.values.size()) {}

  // The value has a more precise type than before.
  void add(ValueId id) {
    if (knows(id)) refined_[static_cast<std::size_t>(id)] = true;
  }
  // Infers the node again if it reads such a value. Returns whether that changed an output.
  bool infer_readers(Node& node);

 private:
  bool knows(ValueId id) const {
    return id != no_value && static_cast<std::size_t>(id) < refined_.size();
  }
  bool reads(const Node& node) const;

  Graph& graph_;
  std::vector<bool> refined_;
};

}  // namespace ondine::graph
