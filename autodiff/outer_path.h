// Differentiation in a subgraph with respect to values of the outer graph.
#pragma once

#include <unordered_map>
#include <vector>

#include "autodiff/dataflow.h"
#include "graph/ir/graph.h"

namespace ondine::autodiff {

// A Gradient in a subgraph may name tensors of the outer graph. While such a subgraph is expanded,
// it starts with copies of the outer nodes between those tensors and its captures, so that
// derivatives flow through them. Afterwards the copies are removed and the values that derivatives
// read of them are captured, so nothing is computed twice.
class OuterPath {
 public:
  // Inserts the copies into `inner`, the graph of a subgraph with these captures. `flow` is that of
  // the outer graph.
  OuterPath(graph::Graph& outer, Dataflow& flow, graph::Graph& inner,
            std::vector<graph::ValueId>& captures);
  // Removes the copies from the graph to which `inner` was expanded.
  void remove_from(graph::Graph& expanded);

 private:
  struct Copy {
    std::size_t outer;  // index of the node in the outer graph
    graph::Node inner;
  };

  std::vector<std::size_t> between(const std::vector<graph::ValueId>& captures);
  graph::ValueId inside(graph::ValueId outer);
  void capture(graph::Graph& inner, graph::ValueId id, graph::ValueId outer);
  void add_copy(std::size_t position);

  graph::Graph* outer_;
  Dataflow* flow_;
  graph::Graph* inner_;
  std::vector<graph::ValueId>* captures_;
  std::unordered_map<graph::ValueId, graph::ValueId> inner_of_;  // by outer id
  std::vector<Copy> copies_;
};

}  // namespace ondine::autodiff
