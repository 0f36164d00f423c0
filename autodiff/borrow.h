// What a Gradient in a body follows out of the body.
#pragma once

#include <vector>

#include "graph/ir/graph.h"

namespace ondine::autodiff {

// While a body is expanded, the outer nodes between the outer tensors that Gradients in it name and
// the outer values it captures stand at its beginning, so that derivatives flow through them. They
// leave it afterwards: what derivatives read of them is captured, nothing is computed twice.
class BorrowedNodes {
 public:
  // Puts the nodes into `inner`, the graph of a body with these captures.
  BorrowedNodes(graph::Graph& outer, graph::Graph& inner, std::vector<graph::ValueId>& captures);
  // Takes them out of the graph that `inner` was expanded to.
  void give_back(graph::Graph& expanded);

 private:
  struct Loan {
    std::size_t outer;  // position of the node in the outer graph
    graph::Node inner;
  };

  std::vector<std::size_t> between(const std::vector<graph::ValueId>& captures) const;
  graph::ValueId inside(graph::ValueId outer);
  void capture(graph::Graph& inner, graph::ValueId id, graph::ValueId outer);
  void borrow(std::size_t position);

  graph::Graph* outer_;
  graph::Graph* inner_;
  std::vector<graph::ValueId>* captures_;
  std::vector<graph::ValueId> inner_of_;  // by outer id; no_value where the body has none
  std::vector<Loan> loans_;
};

}  // namespace ondine::autodiff
