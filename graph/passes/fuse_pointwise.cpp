// A pointwise convolution, and the activation after it, go into the depthwise convolution of the
// result, where its planes are large and nothing else reads them: PointwiseDepthwiseConv.
#include <algorithm>

#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

// Where the planes of an image take less, they stay in a cache in any case.
constexpr std::int64_t least_bytes = 512 * 1024;

// Windows that depthwise convolutions of rows of a plane are made for, none of them in the padding.
bool has_usual_window(const NodeView& conv, const Shape& taps) {
  if (taps[2] != taps[3]) return false;
  const auto pads = conv.attr_ints("pads");
  return (taps[2] == 3 || all_are(conv, "strides", 1)) &&
         std::all_of(pads.begin(), pads.end(), [&](std::int64_t pad) { return pad < taps[2]; });
}

bool are_large(const Type& planes) {
  const Dims& dims = *planes.dims;
  std::int64_t elements = 1;
  for (std::size_t axis = 1; axis < dims.size(); ++axis) {
    if (!dims[axis].known()) return false;
    elements = std::min(least_bytes, elements) * dims[axis].size();
  }
  return elements >= least_bytes / static_cast<std::int64_t>(sizeof(float));
}

bool is_convolution(const Node& node) {
  return node.op->domain == ondine_domain ? node.op->name == "ConvActivation"
                                          : node.op->domain.empty() && node.op->name == "Conv";
}

// The convolution before a depthwise one and what lies between the two.
struct Inner {
  const Node* convolution = nullptr;
  Attributes activation;
};

Inner inner_of(ValueId z, const Uses& uses) {
  if (uses.readers(z) != 1) return {};
  if (const Node* const fused = uses.producer(z, "ConvActivation", ondine_domain)) {
    const std::string name = NodeView(*fused).attr_string("activation", "");
    return {fused, {{"inner_activation", name}}};
  }
  if (const Node* const gate = uses.producer(z, "HardSwish")) {
    return {uses.sole_producer(gate->inputs[0], "Conv"),
            {{"inner_activation", std::string("HardSwish")}}};
  }
  if (const Node* const gate = uses.producer(z, "Swish")) {
    return {uses.sole_producer(gate->inputs[0], "Conv"),
            {{"inner_activation", std::string("Swish")},
             {"inner_alpha", NodeView(*gate).attr_float("alpha", 1.0F)}}};
  }
  return {uses.producer(z, "Conv"), {}};
}

bool fuse(Node& node, const Graph& graph, const Uses& uses, const OpDef& fused) {
  if (!is_convolution(node)) return false;
  const ValueId z = node.inputs[0];
  const Inner inner = inner_of(z, uses);
  if (inner.convolution == nullptr || !is_full_float(graph, z)) return false;
  const Node& first = *inner.convolution;
  const Type& planes = graph[z].type;
  const Type& w = graph[node.inputs[1]].type;
  const NodeView conv(node);
  if (!is_depthwise(conv, planes, w) || !has_usual_window(conv, *w.shape()) || !are_large(planes) ||
      !is_pointwise(NodeView(first), graph[first.inputs[1]].type)) {
    return false;
  }
  const auto bias = [](const Node& of) {
    return NodeView(of).has_input(2) ? of.inputs[2] : no_value;
  };
  node.inputs = {first.inputs[0], first.inputs[1], bias(first), node.inputs[1], bias(node)};
  node.attributes.insert(node.attributes.end(), inner.activation.begin(), inner.activation.end());
  node.op = &fused;
  node.version = 1;
  return true;
}

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const OpDef* const fused = context.catalogue->find(ondine_domain, "PointwiseDepthwiseConv");
  if (fused == nullptr) return false;
  return fuse_nodes(graph, fuse_pointwise, context,
                    [&](Node& node, const Uses& uses) { return fuse(node, graph, uses, *fused); });
}

}  // namespace

const Pass fuse_pointwise{"fuse_pointwise", run};

}  // namespace ondine::graph
