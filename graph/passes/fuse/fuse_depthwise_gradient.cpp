// The derivatives of a depthwise convolution of z = BatchNormalizationActivation(x, ...) and of the
// normalization become one NormalizedDepthwiseConvGrad, which needs neither z nor its derivative:
//   dz = ConvGradInput(dy, w, ...)         dx, dscale, dbias, dw =
//   dw = ConvGradWeight(z, dy, ...)          NormalizedDepthwiseConvGrad(dy, w, x, scale, ...)
//   dx, dscale, dbias = BatchNormalizationActivationGrad(dz, x, scale, ...)
#include "graph/passes/fuse.h"
#include "graph/passes/same_attributes.h"

namespace ondine::graph {
namespace {

constexpr std::string_view grad_name = "BatchNormalizationActivationGrad";

bool same_attribute(const NodeView& a, const NodeView& b, std::string_view name, float missing) {
  return a.has_attr(name) == b.has_attr(name) &&
         a.attr_float(name, missing) == b.attr_float(name, missing);
}

// Whether `grad` is the derivative of this normalization.
bool is_derivative(const Node& grad, const Node& norm) {
  const NodeView of(grad), view(norm);
  if (norm.outputs.size() < 5 || view.has_input(5)) return false;
  return of.attr_int("constant_statistics", 0) == 0 && view.attr_int("training_mode", 0) != 0 &&
         of.attr_int("relu", 0) == view.attr_int("relu", 0) && same_attribute(of, view, "low", 0) &&
         same_attribute(of, view, "high", 0) && same_attribute(of, view, "alpha", 1) &&
         of.attr_string("activation", "") == view.attr_string("activation", "") &&
         of.attr_float("epsilon", 1e-5F) == view.attr_float("epsilon", 1e-5F) &&
         grad.inputs[1] == norm.inputs[0] && grad.inputs[2] == norm.inputs[1] &&
         grad.inputs[3] == norm.outputs[3] && grad.inputs[4] == norm.outputs[4] &&
         grad.inputs[5] == norm.inputs[2];
}

class Fuser {
 public:
  Fuser(Graph& graph, const OpDef* fused)
      : graph_(&graph),
        fused_(fused),
        gone_(graph.nodes.size()),
        weights_(graph, "ConvGradWeight", ondine_domain, 1) {}

  bool fuse(Node& node, const Uses& uses) {
    if (node.op->name != grad_name || node.op->domain != ondine_domain) return false;
    const Node* data = uses.sole_producer(node.inputs[0], "ConvGradInput", ondine_domain);
    if (data == nullptr || !is_full_float(*graph_, node.inputs[1])) return false;
    const auto found = weights_.of(data->inputs[0]);
    if (found.empty() || gone_[found.front()]) return false;
    const Node& weights = graph_->nodes[found.front()];
    const Node* norm =
        uses.producer(weights.inputs[0], "BatchNormalizationActivation", ondine_domain);
    if (norm == nullptr || !is_derivative(node, *norm)) return false;
    const Type& x = (*graph_)[node.inputs[1]].type;
    const Type& w = (*graph_)[data->inputs[1]].type;
    if (!same_attributes(data->attributes, weights.attributes) ||
        !is_depthwise(NodeView(*data), x, w) || &weights > &node ||
        is_read_between(weights, node, 0)) {
      return false;
    }
    replace(node, *data, weights);
    gone_[found.front()] = true;
    return true;
  }

  const std::vector<bool>& gone() const { return gone_; }

 private:
  void replace(Node& node, const Node& data, const Node& weights) const {
    Attributes attributes = data.attributes;
    for (const auto& each : node.attributes) {
      if (each.name != "constant_statistics") attributes.push_back(each);
    }
    node.outputs.resize(3, no_value);
    node.outputs.push_back(weights.outputs[0]);
    node.inputs = {data.inputs[0], data.inputs[1], node.inputs[1], node.inputs[2],
                   node.inputs[3], node.inputs[4], node.inputs[5]};
    node.op = fused_;
    node.version = 1;
    node.attributes = std::move(attributes);
  }

  Graph* graph_;
  const OpDef* fused_;
  std::vector<bool> gone_;
  ReadersByInput weights_;  // by dy
};

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const OpDef* fused = context.catalogue->find(ondine_domain, "NormalizedDepthwiseConvGrad");
  if (fused == nullptr) return false;
  Fuser fuser(graph, fused);
  const bool changed =
      fuse_nodes(graph, [&](Node& node, const Uses& uses) { return fuser.fuse(node, uses); });
  erase_nodes(graph, fuser.gone());
  return changed;
}

}  // namespace

const Pass fuse_depthwise_gradient{"fuse_depthwise_gradient", run};

}  // namespace ondine::graph
