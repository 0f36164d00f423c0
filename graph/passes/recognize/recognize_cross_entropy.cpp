// NegativeLogLikelihoodLoss of LogSoftmax over the classes becomes SoftmaxCrossEntropyLoss.
#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

bool recognize(Node& node, const Graph& graph, const OpDef* op, const Uses& uses) {
  if (op == nullptr || node.op->name != "NegativeLogLikelihoodLoss" || !node.op->domain.empty()) {
    return false;
  }
  const Node* logs = uses.producer_for(node.inputs[0], 1, "LogSoftmax");
  if (logs == nullptr) return false;
  const Type& type = graph[logs->inputs[0]].type;
  if (!type.ranked() || type.dims->size() < 2) return false;
  const std::size_t rank = type.dims->size();
  const bool old = logs->version < 13;  // normalizes over all axes from `axis` on
  if (old && rank != 2) return false;
  const auto axis = NodeView(*logs).attr_int("axis", old ? 1 : -1);
  if (NodeView::normalize_axis(axis, rank) != 1) return false;
  node.op = op;
  node.version = 13;
  node.inputs[0] = logs->inputs[0];
  return true;
}

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const OpDef* op = context.catalogue->find("", "SoftmaxCrossEntropyLoss");
  return fuse_nodes(graph,
                    [&](Node& node, const Uses& uses) { return recognize(node, graph, op, uses); });
}

}  // namespace

const Pass recognize_cross_entropy{"recognize_cross_entropy", run};

}  // namespace ondine::graph
