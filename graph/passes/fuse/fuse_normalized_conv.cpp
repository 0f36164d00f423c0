// A convolution of z = BatchNormalizationActivation(x, ...) by the statistics of the batch, and its
// derivative by the weights, read x and normalize it themselves, provided that nothing else reads z
// but its shape, which is that of x:
//   y = Conv(z, w)                  y, ... = NormalizedConv(x, ..., w)
//   dw = ConvGradWeight(z, dy, s)   dw = ConvGrads(dy, x, w, ...)
// A depthwise convolution that made x finds its statistics, while it has x in a cache. Products
// that round their factors best read z as it is stored, so that with them only depthwise
// convolutions take the normalization.
#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

// Smaller planes of several images are joined for one pointwise product, which needs z.
constexpr std::int64_t least_positions = 196;

bool are_large_planes(const Type& x) {
  if (!x.dims || x.dims->size() != 4) return false;
  const Dim height = (*x.dims)[2], width = (*x.dims)[3];
  return height.known() && width.known() && height.size() * width.size() >= least_positions;
}

class Fuser {
 public:
  Fuser(Graph& graph, const PassContext& context, const OpDef* forward, const OpDef* weights)
      : graph_(&graph),
        keeps_precision_(context.keeps_precision),
        forward_(forward),
        weights_(weights),
        gone_(graph.nodes.size()),
        derivatives_(graph, "ConvGradWeight", ondine_domain, 0),
        shapes_(graph, "Shape", {}, 0) {}

  bool fuse(Node& node, const Uses& uses) {
    if (node.op->name != "Conv" || !node.op->domain.empty()) return false;
    const ValueId z = node.inputs[0];
    const Node* norm = uses.producer(z, "BatchNormalizationActivation", ondine_domain);
    if (norm == nullptr || !is_full_float(*graph_, z) || !is_taken_by_convolution(*norm)) {
      return false;
    }
    if (NodeView(node).has_input(2) || !(keeps_precision_ || is_depthwise(node))) return false;
    if (is_pointwise(NodeView(node), type_of(node.inputs[1])) && !are_large_planes(type_of(z))) {
      return false;
    }
    // Nobody reads a statistic before the convolution.
    if (is_read_between(*norm, node, 1)) return false;
    const auto derivatives = derivatives_.of(z);
    Node* const derivative = derivatives.empty() ? nullptr : &graph_->nodes[derivatives.front()];
    const auto shapes = shapes_.of(z);
    const std::size_t others = shapes.size() + (derivative ? 1 : 0);
    if (static_cast<std::size_t>(uses.readers(z)) != 1 + others) return false;
    if (derivative != nullptr) {
      if (derivative < &node || !is_derivative(*derivative, node, *norm)) return false;
      replace_derivative(*derivative, node, *norm);
    }
    for (const std::size_t each : shapes) graph_->nodes[each].inputs[0] = norm->inputs[0];
    const bool finds = is_depthwise(node);
    take_normalization(node, *norm, *forward_);
    const Node* const before = uses.producer(node.inputs[0], "NormalizedConv", ondine_domain);
    if (!finds && before != nullptr && is_depthwise(*before)) take_statistics(node, *before);
    gone_[static_cast<std::size_t>(norm - graph_->nodes.data())] = true;
    return true;
  }

  const std::vector<bool>& gone() const { return gone_; }

 private:
  const Type& type_of(ValueId id) const { return (*graph_)[id].type; }

  // Conv or NormalizedConv.
  bool is_depthwise(const Node& node) const {
    const ValueId w = node.inputs[node.op == forward_ ? 5 : 1];
    return graph::is_depthwise(NodeView(node), type_of(node.inputs[0]), type_of(w));
  }

  bool is_derivative(const Node& node, const Node& conv, const Node& norm) const {
    const NodeView view(norm);
    return keeps_precision_ && view.has_output(3) && view.has_output(4) &&
           node.inputs[1] != node.inputs[0] &&
           same_tensor_type(*graph_, node.outputs[0], conv.inputs[1]);
  }

  void take_statistics(Node& node, const Node& deep) const {
    auto& outputs = graph_->nodes[static_cast<std::size_t>(&deep - graph_->nodes.data())].outputs;
    if (outputs.size() <= 5) {
      const Type& x = type_of(node.inputs[0]);
      const Type statistic = Type::tensor(x.dtype, Dims{(*x.dims)[1]});
      outputs.resize(5, no_value);
      outputs.push_back(graph_->add_temporary("mean", statistic));
      outputs.push_back(graph_->add_temporary("variance", statistic));
    }
    node.inputs.insert(node.inputs.end(), {outputs[5], outputs[6]});
  }

  void replace_derivative(Node& node, const Node& conv, const Node& norm) const {
    node.attributes.insert(node.attributes.end(), norm.attributes.begin(), norm.attributes.end());
    node.inputs = {node.inputs[1],  norm.inputs[0],  conv.inputs[1], norm.inputs[1],
                   norm.outputs[3], norm.outputs[4], norm.inputs[2]};
    node.op = weights_;
    node.version = 1;
  }

  Graph* graph_;
  bool keeps_precision_;
  const OpDef* forward_;
  const OpDef* weights_;
  std::vector<bool> gone_;
  ReadersByInput derivatives_, shapes_;  // by z
};

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const OpDef* forward = context.catalogue->find(ondine_domain, "NormalizedConv");
  const OpDef* weights = context.catalogue->find(ondine_domain, "ConvGrads");
  if (forward == nullptr || weights == nullptr) return false;
  Fuser fuser(graph, context, forward, weights);
  const bool changed =
      fuse_nodes(graph, [&](Node& node, const Uses& uses) { return fuser.fuse(node, uses); });
  erase_nodes(graph, fuser.gone());
  return changed;
}

}  // namespace

const Pass fuse_normalized_conv{"fuse_normalized_conv", run};

}  // namespace ondine::graph
