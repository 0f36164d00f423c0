// Fuses Relu, and Clip to [0, 6], with the Conv or Gemm before it if nothing else reads its result:
// ConvActivation, GemmActivation.
#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

const char* name_of(const ActivationNode& activation) {
  if (activation.relu) return "Relu";
  return activation.low == 0.0F && activation.high == 6.0F ? "Relu6" : nullptr;
}

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  return fuse_nodes(graph, fuse_activation, context, [&](Node& node, const Uses& uses) {
    const auto activation = read_activation(node, graph);
    const char* name = activation ? name_of(*activation) : nullptr;
    if (name == nullptr || !is_full_float(graph, node.outputs[0])) return false;
    for (const char* op : {"Conv", "Gemm"}) {
      const Node* product = uses.sole_producer(node.inputs[0], op);
      const OpDef* fused = context.catalogue->find(ondine_domain, cat(op, "Activation"));
      if (product == nullptr || fused == nullptr) continue;
      node.op = fused;
      node.version = product->version;
      node.inputs = product->inputs;
      node.attributes = product->attributes;
      node.attributes.emplace_back("activation", std::string(name));
      return true;
    }
    return false;
  });
}

}  // namespace

const Pass fuse_activation{"fuse_activation", run};

}  // namespace ondine::graph
