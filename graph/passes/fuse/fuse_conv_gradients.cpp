// Both derivatives of a convolution become one ConvGrads:
//   dz = ConvGradInput(dy, w, shape of z)      dw, dz = ConvGrads(dy, z, w)
//   dw = ConvGradWeight(z, dy, shape of w)
// fuse_pointwise_gradient: of a pointwise convolution over planes, which then reads dy once. If dy
// has fewer channels than z, or so many that a block of positions is short, two products are as
// fast.
// fuse_depthwise_gradient: of a depthwise convolution of z = BatchNormalizationActivation(x, ...),
// with the derivative of that, so that neither z nor dz is needed:
//   dx, dscale, dbias =                        dw, dx, dscale, dbias =
//     BatchNormalizationActivationGrad(dz,       ConvGrads(dy, x, w, scale, mean, variance, bias)
//       x, scale, mean, variance, bias)
#include "graph/passes/fuse.h"
#include "graph/passes/same_attributes.h"

namespace ondine::graph {
namespace {

class Fuser {
 public:
  Fuser(Graph& graph, const OpDef* fused)
      : graph_(&graph),
        fused_(fused),
        gone_(graph.nodes.size()),
        weights_(graph, "ConvGradWeight", ondine_domain, 1) {}

  // Fuses `data` with a derivative by the weights for which belongs() holds. `last` is `data` or
  // the derivative of the normalization, which alone reads the result of `data`.
  template <class Belongs>
  bool fuse(const Node& data, Node& last, Belongs belongs) {
    // Derivatives of other convolutions with the same dy and the same shapes are as good.
    for (const std::size_t each : weights_.of(data.inputs[0])) {
      Node& weights = graph_->nodes[each];
      if (weights.op == fused_ || gone_[each] || !belongs(weights) ||
          !same_attributes(data.attributes, weights.attributes)) {
        continue;
      }
      const bool weights_first = &weights < &last;
      Node& former = weights_first ? weights : last;
      Node& latter = weights_first ? last : weights;
      if (is_read_between(former, latter, 0)) continue;
      replace(latter, data, last, weights);
      gone_[static_cast<std::size_t>(&former - graph_->nodes.data())] = true;
      return true;
    }
    return false;
  }

  const std::vector<bool>& gone() const { return gone_; }

 private:
  void replace(Node& latter, const Node& data, const Node& last, const Node& weights) const {
    Attributes attributes = data.attributes;
    std::vector<ValueId> inputs{data.inputs[0], weights.inputs[0], data.inputs[1]};
    if (&last != &data) {
      inputs[1] = last.inputs[1];
      inputs.insert(inputs.end(), last.inputs.begin() + 2, last.inputs.begin() + 6);
      attributes.insert(attributes.end(), last.attributes.begin(), last.attributes.end());
      std::erase_if(attributes, [](const auto& of) { return of.name == "constant_statistics"; });
    }
    std::vector<ValueId> outputs{weights.outputs[0]};
    outputs.insert(outputs.end(), last.outputs.begin(), last.outputs.end());
    latter.inputs = std::move(inputs);
    latter.outputs = std::move(outputs);
    latter.attributes = std::move(attributes);
    latter.op = fused_;
    latter.version = 1;
  }

  Graph* graph_;
  const OpDef* fused_;
  std::vector<bool> gone_;
  ReadersByInput weights_;  // by dy
};

// fuse(fuser, node, uses) for each node.
template <class Fuse>
bool fuse_gradients(Graph& graph, const PassContext& context, Fuse fuse) {
  if (context.catalogue == nullptr) return false;
  const OpDef* fused = context.catalogue->find(ondine_domain, "ConvGrads");
  if (fused == nullptr) return false;
  Fuser fuser(graph, fused);
  const bool changed =
      fuse_nodes(graph, [&](Node& node, const Uses& uses) { return fuse(fuser, node, uses); });
  erase_nodes(graph, fuser.gone());
  return changed;
}

// Whether one operator for the derivatives of a pointwise convolution of x is faster than two.
bool gains(const Type& x, const Type& dy) {
  constexpr std::int64_t least_positions = 196;
  constexpr std::int64_t most_channels = 640;
  if (!x.dims || !dy.dims || x.dims->size() != 4 || dy.dims->size() != 4) return false;
  const Dim in = (*x.dims)[1], out = (*dy.dims)[1];
  const Dim height = (*x.dims)[2], width = (*x.dims)[3];
  const bool known = in.known() && out.known() && height.known() && width.known();
  return known && in.size() <= out.size() && out.size() <= most_channels &&
         height.size() * width.size() >= least_positions;
}

bool fuse_pointwise_gradients(Graph& graph, const PassContext& context) {
  if (!context.keeps_precision) return false;
  return fuse_gradients(graph, context, [&](Fuser& fuser, Node& data, const Uses&) {
    if (data.op->name != "ConvGradInput" || data.op->domain != ondine_domain) return false;
    const ValueId dx = data.outputs[0], w = data.inputs[1];
    return is_full_float(graph, dx) && gains(graph[dx].type, graph[data.inputs[0]].type) &&
           is_pointwise(NodeView(data), graph[w].type) &&
           fuser.fuse(data, data, [&](const Node& weights) {
             return same_tensor_type(graph, dx, weights.inputs[0]) &&
                    same_tensor_type(graph, w, weights.outputs[0]);
           });
  });
}

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

bool fuse_depthwise_gradients(Graph& graph, const PassContext& context) {
  return fuse_gradients(graph, context, [&](Fuser& fuser, Node& grad, const Uses& uses) {
    if (grad.op->name != "BatchNormalizationActivationGrad" || grad.op->domain != ondine_domain) {
      return false;
    }
    const Node* data = uses.sole_producer(grad.inputs[0], "ConvGradInput", ondine_domain);
    const ValueId x = grad.inputs[1];
    return data != nullptr && is_full_float(graph, x) &&
           is_depthwise(NodeView(*data), graph[x].type, graph[data->inputs[1]].type) &&
           fuser.fuse(*data, grad, [&](const Node& weights) {
             const Node* norm =
                 uses.producer(weights.inputs[0], "BatchNormalizationActivation", ondine_domain);
             return norm != nullptr && is_derivative(grad, *norm);
           });
  });
}

}  // namespace

const Pass fuse_pointwise_gradient{"fuse_pointwise_gradient", fuse_pointwise_gradients};
const Pass fuse_depthwise_gradient{"fuse_depthwise_gradient", fuse_depthwise_gradients};

}  // namespace ondine::graph
