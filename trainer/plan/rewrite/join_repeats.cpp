#include "trainer/plan/rewrite/join_repeats.h"

#include <algorithm>
#include <utility>

#include "graph/contract/op_def.h"
#include "graph/passes/same_attributes.h"
#include "trainer/plan/schedule/lifetimes.h"
#include "trainer/plan/schedule/order.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

bool has_output(const Node& node, std::size_t i) {
  return node.outputs.size() > i && node.outputs[i] != no_value;
}

// Whether `node` computes output 1 of `gradient`, as that would: of its inputs from 1 on.
bool repeats(const Node& gradient, const Node& node) {
  if (gradient.op->repeats == nullptr || has_output(gradient, 1)) return false;
  return node.op == gradient.op->repeats && node.outputs.size() == 1 &&
         std::equal(node.inputs.begin(), node.inputs.end(), gradient.inputs.begin() + 1,
                    gradient.inputs.end()) &&
         same_attributes(node.attributes, gradient.attributes);
}

}  // namespace

bool join_repeats(Graph& graph, std::span<const ValueId> outside) {
  order_nodes(graph, flags_of(outside, graph), {});
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    if (!nodes.empty() && repeats(nodes.back(), node)) {
      nodes.back().outputs.resize(std::max<std::size_t>(nodes.back().outputs.size(), 2), no_value);
      nodes.back().outputs[1] = node.outputs[0];
    } else {
      nodes.push_back(std::move(node));
    }
  }
  const bool joined = nodes.size() < graph.nodes.size();
  graph.nodes = std::move(nodes);
  return joined;
}

}  // namespace ondine::trainer
