// Both derivatives of a pointwise convolution over planes become one PointwiseConvGrad, which reads
// dy once:
//   dx = ConvGradInput(dy, w, shape of x)
//   dw = ConvGradWeight(x, dy, shape of w)
// Where dy has fewer channels than x, or so many that a block of positions is short, two products
// are as fast.
#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t least_positions = 196;
constexpr std::int64_t most_channels = 640;

// Whether the fusion of a convolution of x with derivative dy is faster than two products.
bool gains(const Type& x, const Type& dy) {
  if (!x.dims || !dy.dims || x.dims->size() != 4 || dy.dims->size() != 4) return false;
  const Dim in = (*x.dims)[1], out = (*dy.dims)[1];
  const Dim height = (*x.dims)[2], width = (*x.dims)[3];
  const bool known = in.known() && out.known() && height.known() && width.known();
  return known && in.size() <= out.size() && out.size() <= most_channels &&
         height.size() * width.size() >= least_positions;
}

class Fuser {
 public:
  Fuser(Graph& graph, const OpDef* fused)
      : graph_(&graph),
        fused_(fused),
        gone_(graph.nodes.size()),
        weights_(graph, "ConvGradWeight", ondine_domain, 1) {}

  bool fuse(Node& data) {
    if (data.op->name != "ConvGradInput" || data.op->domain != ondine_domain) return false;
    const Type& dx = type_of(data.outputs[0]);
    if (!is_full_float(*graph_, data.outputs[0]) || !gains(dx, type_of(data.inputs[0])) ||
        !is_pointwise(NodeView(data), type_of(data.inputs[1]))) {
      return false;
    }
    // Derivatives of other convolutions with the same dy and the same shapes are as good.
    for (const std::size_t each : weights_.of(data.inputs[0])) {
      Node& weights = graph_->nodes[each];
      if (weights.op == fused_ || gone_[each] || !belong_together(data, weights)) continue;
      const bool weights_first = &weights < &data;
      Node& former = weights_first ? weights : data;
      Node& latter = weights_first ? data : weights;
      if (is_read_between(former, latter, 0)) continue;
      replace(latter, data, weights);
      gone_[static_cast<std::size_t>(&former - graph_->nodes.data())] = true;
      return true;
    }
    return false;
  }

  const std::vector<bool>& gone() const { return gone_; }

 private:
  const Type& type_of(ValueId id) const { return (*graph_)[id].type; }

  bool belong_together(const Node& data, const Node& weights) const {
    return same_tensor_type(*graph_, data.outputs[0], weights.inputs[0]) &&
           same_tensor_type(*graph_, data.inputs[1], weights.outputs[0]) &&
           is_pointwise(NodeView(weights), type_of(weights.outputs[0]));
  }

  void replace(Node& latter, const Node& data, const Node& weights) const {
    std::vector<ValueId> inputs{data.inputs[0], data.inputs[1], weights.inputs[0]};
    std::vector<ValueId> outputs{data.outputs[0], weights.outputs[0]};
    latter.inputs = std::move(inputs);
    latter.outputs = std::move(outputs);
    latter.attributes.clear();
    latter.op = fused_;
    latter.version = 1;
  }

  Graph* graph_;
  const OpDef* fused_;
  std::vector<bool> gone_;
  ReadersByInput weights_;  // by dy
};

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr || !context.keeps_precision) return false;
  const OpDef* fused = context.catalogue->find(ondine_domain, "PointwiseConvGrad");
  if (fused == nullptr) return false;
  Fuser fuser(graph, fused);
  const bool changed = fuse_nodes(graph, [&](Node& node, const Uses&) { return fuser.fuse(node); });
  erase_nodes(graph, fuser.gone());
  return changed;
}

}  // namespace

const Pass fuse_pointwise_gradient{"fuse_pointwise_gradient", run};

}  // namespace ondine::graph
