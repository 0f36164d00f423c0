// A depthwise convolution of z = BatchNormalizationActivation(x, ...) by the statistics of the
// batch becomes NormalizedDepthwiseConv(x, ..., w), provided that nothing else reads z.
#include <algorithm>

#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

// What math::NormalizedDepthwiseConv supports: planes, one channel for each group, no bias.
bool is_supported(const Node& conv, const Graph& graph) {
  const NodeView view(conv);
  const Type& x = graph[conv.inputs[0]].type;
  const auto taps = graph[conv.inputs[1]].type.shape();
  if (view.has_input(2) || !x.dims || x.dims->size() != 4 || !taps) return false;
  const std::int64_t groups = view.attr_int("group", 1);
  const Dim channels = (*x.dims)[1];
  return groups > 1 && channels.known() && channels.size() == groups && (*taps)[0] == groups &&
         taps->size() > 0;
}

class Fuser {
 public:
  Fuser(Graph& graph, const OpDef* fused)
      : graph_(&graph), fused_(fused), gone_(graph.nodes.size()) {}

  bool fuse(Node& node, const Uses& uses) {
    if (node.op->name != "Conv" || !node.op->domain.empty()) return false;
    const Node* norm =
        uses.sole_producer(node.inputs[0], "BatchNormalizationActivation", ondine_domain);
    if (norm == nullptr || !is_full_float(*graph_, node.inputs[0])) return false;
    const NodeView view(*norm);
    if (view.attr_int("training_mode", 0) == 0 || view.has_input(5)) return false;
    if (!is_supported(node, *graph_) || is_read_between(*norm, node)) return false;
    const ValueId result = node.outputs[0];
    const ValueId w = node.inputs[1];
    node.attributes.insert(node.attributes.end(), norm->attributes.begin(), norm->attributes.end());
    node.inputs = norm->inputs;
    node.inputs.resize(5);
    node.inputs.push_back(w);
    node.outputs = norm->outputs;
    node.outputs[0] = result;
    node.op = fused_;
    node.version = 1;
    gone_[static_cast<std::size_t>(norm - graph_->nodes.data())] = true;
    return true;
  }

  void erase_gone() {
    std::size_t i = 0;
    std::erase_if(graph_->nodes, [&](const Node&) { return gone_[i++]; });
  }

 private:
  // Whether a node in between reads a statistic.
  bool is_read_between(const Node& norm, const Node& conv) const {
    return std::any_of(&norm + 1, &conv, [&](const Node& node) {
      const auto inputs = node.all_inputs();
      return std::any_of(norm.outputs.begin() + 1, norm.outputs.end(), [&](ValueId id) {
        return id != no_value && std::find(inputs.begin(), inputs.end(), id) != inputs.end();
      });
    });
  }

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
      fuse_nodes(graph, fuse_depthwise, context,
                 [&](Node& node, const Uses& uses) { return fuser.fuse(node, uses); });
  fuser.erase_gone();
  return changed;
}

}  // namespace

const Pass fuse_depthwise{"fuse_depthwise", run};

}  // namespace ondine::graph
