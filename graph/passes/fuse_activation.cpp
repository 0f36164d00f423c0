// What a product can do to its results before it stores them, if nothing else reads them: Relu, and
// Clip to [0, 6], of a Conv or Gemm become ConvActivation and GemmActivation, and the sum of a
// MatMul and one number for each column MatMulT. DequantizeMatMul takes such a bias too.
#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

const char* name_of(const ActivationNode& activation) {
  if (activation.relu) return "Relu";
  return activation.low == 0.0F && activation.high == 6.0F ? "Relu6" : nullptr;
}

bool fuse_activation_of(Node& node, const Graph& graph, const Uses& uses,
                        const Catalogue& catalogue) {
  const auto activation = read_activation(node, graph);
  const char* name = activation ? name_of(*activation) : nullptr;
  if (name == nullptr || !is_full_float(graph, node.outputs[0])) return false;
  for (const char* op : {"Conv", "Gemm"}) {
    const Node* product = uses.sole_producer(node.inputs[0], op);
    const OpDef* fused = catalogue.find(ondine_domain, cat(op, "Activation"));
    if (product == nullptr || fused == nullptr) continue;
    node.op = fused;
    node.version = product->version;
    node.inputs = product->inputs;
    node.attributes = product->attributes;
    node.attributes.emplace_back("activation", std::string(name));
    return true;
  }
  return false;
}

bool is_bias(const Graph& graph, ValueId bias, ValueId y) {
  const Type& numbers = graph[bias].type;
  const Type& type = graph[y].type;
  return numbers.ranked() && type.ranked() && numbers.rank() == 1 && type.rank() >= 2 &&
         numbers.dtype == type.dtype && numbers.dims->back().same(type.dims->back());
}

bool is_batch_of_matrices(const Graph& graph, ValueId id) {
  return graph[id].type.ranked() && graph[id].type.rank() >= 2;
}

bool take_bias(Node& node, ValueId y, ValueId bias, const Graph& graph, const Uses& uses,
               const Catalogue& catalogue) {
  if (!is_bias(graph, bias, y) || !same_tensor_type(graph, y, node.outputs[0])) return false;
  constexpr std::size_t dequantized_bias = 4;
  const Node* product = uses.sole_producer(y, "DequantizeMatMul", ondine_domain);
  if (product != nullptr) {
    if (NodeView(*product).has_input(dequantized_bias)) return false;
    node.op = product->op;
    node.inputs = product->inputs;
    node.inputs.resize(dequantized_bias, no_value);
    node.attributes = product->attributes;
  } else {
    product = uses.sole_producer(y, "MatMul");
    const OpDef* fused = catalogue.find(ondine_domain, "MatMulT");
    if (product == nullptr || fused == nullptr ||
        !is_batch_of_matrices(graph, product->inputs[0]) ||
        !is_batch_of_matrices(graph, product->inputs[1])) {
      return false;
    }
    node.op = fused;
    node.inputs = product->inputs;
    node.attributes = {};
  }
  node.version = 1;
  node.inputs.push_back(bias);
  return true;
}

bool fuse_bias(Node& node, const Graph& graph, const Uses& uses, const Catalogue& catalogue) {
  if (node.op->name != "Add" || !node.op->domain.empty()) return false;
  if (!is_full_float(graph, node.outputs[0])) return false;
  const ValueId a = node.inputs[0];
  const ValueId b = node.inputs[1];
  return take_bias(node, a, b, graph, uses, catalogue) ||
         take_bias(node, b, a, graph, uses, catalogue);
}

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  return fuse_nodes(graph, fuse_activation, context, [&](Node& node, const Uses& uses) {
    return fuse_activation_of(node, graph, uses, *context.catalogue) ||
           fuse_bias(node, graph, uses, *context.catalogue);
  });
}

}  // namespace

const Pass fuse_activation{"fuse_activation", run};

}  // namespace ondine::graph
