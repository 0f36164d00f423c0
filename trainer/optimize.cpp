#include "trainer/optimize.h"

#include "graph/evaluate/evaluate_node.h"
#include "graph/passes/pass.h"

namespace ondine::trainer {

void optimize(graph::Graph& graph, const Limits& limits) {
  graph::PassContext context;
  context.fold_bytes = limits.fold_bytes;
  context.evaluate = [&](const graph::Node& node, const graph::Graph& owner) {
    return graph::evaluate_node(node, owner, limits);
  };
  graph::run_passes(graph, context);
}

}  // namespace ondine::trainer
