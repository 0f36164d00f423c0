// The subgraph of an operator as the body of a Loop.
#pragma once

#include "graph/contract/subgraph_builder.h"

namespace ondine::kernels::ops {

// Starts with the formal inputs that each body of a Loop has. The inputs of the operator's body
// are released: the caller defines each for the running iteration, or adopts it as a formal input,
// before append_nodes.
struct LoopBody : graph::SubgraphBuilder {
  LoopBody(graph::Builder& outer, const graph::Subgraph& body) : SubgraphBuilder(outer, body) {
    while (formal_count() > 0) inputs.push_back(release_formal(0));
    nodes_ = take_nodes();
    iteration = add_formal("i", graph::Type::tensor(DType::int64, graph::Dims{}));
    condition = add_formal("go_on", graph::Type::tensor(DType::boolean, graph::Dims{}));
  }

  // The nodes of the operator's body.
  void append_nodes() {
    for (graph::Node& node : nodes_) builder().append(std::move(node));
    nodes_.clear();
  }

  std::vector<graph::ValueId> inputs;
  graph::Val iteration;
  graph::Val condition;

 private:
  std::vector<graph::Node> nodes_;
};

}  // namespace ondine::kernels::ops
