// Swish or Gelu of one tensor times another of the same shape becomes GatedActivation, as in the
// layers SwiGLU and GeGLU: its derivative keeps the two tensors and nothing between them.
#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

class Recognizer {
 public:
  Recognizer(const Graph& graph, const OpDef* gated, const Uses& uses)
      : graph_(&graph), uses_(&uses), gated_(gated) {}

  bool operator()(Node& node) const {
    if (node.op->name != "Mul" || !node.op->domain.empty()) return false;
    if (!is_full_float(*graph_, node.outputs[0])) return false;
    return gates(node, node.inputs[0], node.inputs[1]) ||
           gates(node, node.inputs[1], node.inputs[0]);
  }

 private:
  bool gates(Node& node, ValueId gate, ValueId x) const {
    const Node* activation = uses_->producer_for(gate, 1, "Swish");
    if (activation == nullptr) activation = uses_->producer_for(gate, 1, "Gelu");
    if (activation == nullptr || !same_tensor_type(*graph_, gate, x)) return false;
    node.op = gated_;
    node.version = 1;
    node.inputs = {activation->inputs[0], x};
    node.attributes = activation->attributes;
    node.attributes.emplace_back("activation", std::string(activation->op->name));
    return true;
  }

  const Graph* graph_;
  const Uses* uses_;
  const OpDef* gated_;
};

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const OpDef* const gated = context.catalogue->find(ondine_domain, "GatedActivation");
  if (gated == nullptr) return false;
  return fuse_nodes(
      graph, [&](Node& node, const Uses& uses) { return Recognizer(graph, gated, uses)(node); });
}

}  // namespace

const Pass recognize_gated_activation{"recognize_gated_activation", run};

}  // namespace ondine::graph
