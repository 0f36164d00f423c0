// Where(y > 0, dy, 0) becomes ReluGrad(dy, y); Where(x > high, 0, Where(x < low, 0, dy)), or either
// Where alone, becomes ClipGrad(dy, x).
#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

class Fuser {
 public:
  Fuser(const Graph& graph, const OpDef* relu, const OpDef* clip, const Uses& uses)
      : graph_(&graph), uses_(&uses), relu_(relu), clip_(clip) {}

  bool operator()(Node& node) const {
    if (node.op->name != "Where" || !node.op->domain.empty()) return false;
    if (!is_full_float(*graph_, node.outputs[0])) return false;
    return relu(node) || clip(node);
  }

 private:
  bool zero(ValueId id) const { return constant_number(*graph_, id) == 0.0; }

  bool relu(Node& node) const {
    const Node* test = uses_->producer(node.inputs[0], "Greater");
    if (test == nullptr || !zero(test->inputs[1]) || !zero(node.inputs[2])) return false;
    return replace(node, relu_, node.inputs[1], test->inputs[0], {});
  }

  // The inner Where was visited first and is a ClipGrad now.
  bool clip(Node& node) const {
    if (const auto low = limit(node, "Less")) {
      return replace(node, clip_, node.inputs[2], low->x, {{"low", low->value}});
    }
    const auto high = limit(node, "Greater");
    if (!high) return false;
    const Node* inner = uses_->sole_producer(node.inputs[2], "ClipGrad", ondine_domain);
    if (inner != nullptr && inner->inputs[1] == high->x && inner->attributes.size() == 1 &&
        inner->attributes[0].name == "low") {
      Attributes both = inner->attributes;
      both.emplace_back("high", high->value);
      return replace(node, clip_, inner->inputs[0], high->x, std::move(both));
    }
    return replace(node, clip_, node.inputs[2], high->x, {{"high", high->value}});
  }

  struct Limit {
    ValueId x = no_value;
    float value = 0;
  };

  // Where(x OP constant, 0, ...)
  std::optional<Limit> limit(const Node& node, std::string_view op) const {
    if (!zero(node.inputs[1])) return std::nullopt;
    const Node* test = uses_->producer(node.inputs[0], op);
    if (test == nullptr) return std::nullopt;
    const auto value = constant_number(*graph_, test->inputs[1]);
    if (!value || double{static_cast<float>(*value)} != *value) return std::nullopt;
    return Limit{test->inputs[0], static_cast<float>(*value)};
  }

  bool replace(Node& node, const OpDef* op, ValueId dy, ValueId x, Attributes attributes) const {
    if (!same_tensor_type(*graph_, dy, x) || !same_tensor_type(*graph_, dy, node.outputs[0])) {
      return false;
    }
    node.op = op;
    node.version = 1;
    node.inputs = {dy, x};
    node.attributes = std::move(attributes);
    return true;
  }

  const Graph* graph_;
  const Uses* uses_;
  const OpDef* relu_;
  const OpDef* clip_;
};

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const OpDef* const relu = context.catalogue->find(ondine_domain, "ReluGrad");
  const OpDef* const clip = context.catalogue->find(ondine_domain, "ClipGrad");
  if (relu == nullptr || clip == nullptr) return false;
  return fuse_nodes(
      graph, [&](Node& node, const Uses& uses) { return Fuser(graph, relu, clip, uses)(node); });
}

}  // namespace

const Pass fuse_activation_gradient{"fuse_activation_gradient", run};

}  // namespace ondine::graph
