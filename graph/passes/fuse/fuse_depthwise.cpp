// A depthwise convolution of z = BatchNormalizationActivation(x, ...) by the statistics of the
// batch becomes NormalizedDepthwiseConv(x, ..., w), provided that nothing else reads z.
#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

class Fuser {
 public:
  Fuser(Graph& graph, const OpDef* fused)
      : graph_(&graph), fused_(fused), gone_(graph.nodes.size()) {}

  bool fuse(Node& node, const Uses& uses) {
    if (node.op->name != "Conv" || !node.op->domain.empty()) return false;
    const Node* norm =
        uses.sole_producer(node.inputs[0], "BatchNormalizationActivation", ondine_domain);
    if (norm == nullptr || !is_full_float(*graph_, node.inputs[0])) return false;
    const NodeView conv(node);
    const Type& w = (*graph_)[node.inputs[1]].type;
    if (!is_taken_by_convolution(*norm) || conv.has_input(2) ||
        !is_depthwise(conv, (*graph_)[node.inputs[0]].type, w)) {
      return false;
    }
    // Nobody reads a statistic before the convolution.
    if (is_read_between(*norm, node, 1)) return false;
    take_normalization(node, *norm, *fused_);
    gone_[static_cast<std::size_t>(norm - graph_->nodes.data())] = true;
    return true;
  }

  const std::vector<bool>& gone() const { return gone_; }

 private:
  Graph* graph_;
  const OpDef* fused_;
  std::vector<bool> gone_;
};

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const OpDef* fused = context.catalogue->find(ondine_domain, "NormalizedDepthwiseConv");
  if (fused == nullptr) return false;
  Fuser fuser(graph, fused);
  const bool changed =
      fuse_nodes(graph, [&](Node& node, const Uses& uses) { return fuser.fuse(node, uses); });
  erase_nodes(graph, fuser.gone());
  return changed;
}

}  // namespace

const Pass fuse_depthwise{"fuse_depthwise", run};

}  // namespace ondine::graph
