// Chains around depthwise convolutions whose results nothing else reads become ConvChain: a
// pointwise convolution, the depthwise convolution of its result and the pointwise convolution of
// that, with the activations after them, also without the first; and the first two alone, if the
// planes between are large.
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

ValueId bias_of(const Node& conv) {
  return NodeView(conv).has_input(2) ? conv.inputs[2] : no_value;
}

bool is_pointwise(const Node& conv, const Graph& graph) {
  return is_convolution(conv) && is_pointwise(NodeView(conv), graph[conv.inputs[1]].type);
}

bool is_fusable_depthwise(const Node& node, const Graph& graph) {
  if (!is_convolution(node) || !is_full_float(graph, node.inputs[0])) return false;
  const Type& w = graph[node.inputs[1]].type;
  const NodeView conv(node);
  return is_depthwise(conv, graph[node.inputs[0]].type, w) && has_usual_window(conv, *w.shape());
}

// A fusable depthwise convolution with the inputs and attributes of a ConvChain that ends with it:
// those of a pointwise convolution are absent if none lies before it.
Node with_inner(const Node& depthwise, const Graph& graph, const Uses& uses) {
  Node fused = depthwise;
  fused.version = 1;
  fused.inputs = {depthwise.inputs[0], no_value, no_value, depthwise.inputs[1], bias_of(depthwise)};
  const Inner inner = inner_of(depthwise.inputs[0], uses);
  if (inner.convolution == nullptr || !is_pointwise(*inner.convolution, graph)) return fused;
  const Node& first = *inner.convolution;
  fused.inputs[0] = first.inputs[0];
  fused.inputs[1] = first.inputs[1];
  fused.inputs[2] = bias_of(first);
  fused.attributes.insert(fused.attributes.end(), inner.activation.begin(), inner.activation.end());
  return fused;
}

bool fuse_pair(Node& node, const Graph& graph, const Uses& uses, const OpDef& op) {
  if (!is_fusable_depthwise(node, graph) || !are_large(graph[node.inputs[0]].type)) return false;
  Node fused = with_inner(node, graph, uses);
  if (fused.inputs[1] == no_value) return false;
  node = std::move(fused);
  node.op = &op;
  return true;
}

bool fuse_bottleneck(Node& node, const Graph& graph, const Uses& uses, const OpDef& op) {
  if (!is_pointwise(node, graph)) return false;
  const ValueId results = node.inputs[0];
  const Node* const depthwise = uses.readers(results) == 1 ? uses.producer(results) : nullptr;
  if (depthwise == nullptr || !is_fusable_depthwise(*depthwise, graph)) return false;
  Node fused = with_inner(*depthwise, graph, uses);
  for (Attribute& each : fused.attributes) {
    if (each.name == "activation") each.name = "depthwise_activation";
  }
  const std::string activation = NodeView(node).attr_string("activation", "");
  if (!activation.empty()) fused.attributes.emplace_back("activation", activation);
  fused.inputs.push_back(node.inputs[1]);
  fused.inputs.push_back(bias_of(node));
  node.inputs = std::move(fused.inputs);
  node.attributes = std::move(fused.attributes);
  node.op = &op;
  node.version = 1;
  return true;
}

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const OpDef* const chain = context.catalogue->find(ondine_domain, "ConvChain");
  if (chain == nullptr) return false;
  // In float32 packing factors before their product takes longer than storing what is between.
  const bool chains =
      context.rounds_factors && fuse_nodes(graph, [&](Node& node, const Uses& uses) {
        return fuse_bottleneck(node, graph, uses, *chain);
      });
  const bool pairs = fuse_nodes(
      graph, [&](Node& node, const Uses& uses) { return fuse_pair(node, graph, uses, *chain); });
  return pairs || chains;
}

}  // namespace

const Pass fuse_pointwise{"fuse_pointwise", run};

}  // namespace ondine::graph
