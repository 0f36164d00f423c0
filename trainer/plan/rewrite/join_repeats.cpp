#include "trainer/plan/rewrite/join_repeats.h"

#include <utility>

#include "graph/contract/op_def.h"
#include "graph/passes/same_attributes.h"
#include "trainer/plan/schedule/lifetimes.h"
#include "trainer/plan/schedule/order.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

// Whether `node` computes output 1 of `gradient`, as that would.
bool repeats(const Node& gradient, const Node& node) {
  if (gradient.op->repeats == nullptr || gradient.outputs.size() != 1) return false;
  return node.op == gradient.op->repeats && node.outputs.size() == 1 &&
         node.inputs[0] == gradient.inputs[1] &&
         same_attributes(node.attributes, gradient.attributes);
}

}  // namespace

bool join_repeats(Graph& graph, std::span<const ValueId> outside) {
  order_nodes(graph, flags_of(outside, graph), {});
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    if (!nodes.empty() && repeats(nodes.back(), node)) {
      nodes.back().outputs.push_back(node.outputs[0]);
    } else {
      nodes.push_back(std::move(node));
    }
  }
  const bool joined = nodes.size() < graph.nodes.size();
  graph.nodes = std::move(nodes);
  return joined;
}

}  // namespace ondine::trainer
