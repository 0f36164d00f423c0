// x sigmoid(a x) becomes Swish, as does x sigmoid(x).
#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

class Recognizer {
 public:
  Recognizer(const Graph& graph, const OpDef* swish, const Uses& uses)
      : graph_(&graph), uses_(&uses), swish_(swish) {}

  bool operator()(Node& node) const {
    if (node.op->name != "Mul" || !node.op->domain.empty()) return false;
    if (!is_full_float(*graph_, node.outputs[0])) return false;
    return swish(node, node.inputs[0], node.inputs[1]) ||
           swish(node, node.inputs[1], node.inputs[0]);
  }

 private:
  bool swish(Node& node, ValueId x, ValueId y) const {
    const Node* sigmoid = uses_->producer_for(y, 1, "Sigmoid");
    if (sigmoid == nullptr || !same_tensor_type(*graph_, x, node.outputs[0])) return false;
    const auto alpha = factor(sigmoid->inputs[0], x);
    if (!alpha) return false;
    node.op = swish_;
    node.version = 24;
    node.inputs = {x};
    node.attributes = {{"alpha", static_cast<float>(*alpha)}};
    return true;
  }

  // The number a where `id` is a x.
  std::optional<double> factor(ValueId id, ValueId x) const {
    if (id == x) return 1;
    const Node* product = uses_->producer_for(id, 1, "Mul");
    if (product == nullptr) return std::nullopt;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      if (product->inputs[i] == x) return uses_->number(product->inputs[1 - i]);
    }
    return std::nullopt;
  }

  const Graph* graph_;
  const Uses* uses_;
  const OpDef* swish_;
};

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const OpDef* const swish = context.catalogue->find("", "Swish");
  if (swish == nullptr) return false;
  return fuse_nodes(
      graph, [&](Node& node, const Uses& uses) { return Recognizer(graph, swish, uses)(node); });
}

}  // namespace

const Pass recognize_swish{"recognize_swish", run};

}  // namespace ondine::graph
