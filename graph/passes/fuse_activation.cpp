// What a product can do to its results before it stores them, if nothing else reads them: Relu, and
// Clip to [0, 6], of a Conv or Gemm become ConvActivation and GemmActivation, and the sum of a
// MatMul and one number for each column MatMulT. MatMulT and DequantizeMatMul take such a bias too.
#include <utility>

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

// A product that can take a bias.
struct BiasedProduct {
  const Node* node = nullptr;
  const OpDef* fused = nullptr;
  std::size_t bias = 0;  // the index of that input
};

BiasedProduct product_of(ValueId y, const Graph& graph, const Uses& uses,
                         const Catalogue& catalogue) {
  for (const auto& [op, bias] : {std::pair("DequantizeMatMul", 4), std::pair("MatMulT", 2)}) {
    const Node* product = uses.sole_producer(y, op, ondine_domain);
    if (product != nullptr) return {product, product->op, static_cast<std::size_t>(bias)};
  }
  const Node* product = uses.sole_producer(y, "MatMul");
  if (product == nullptr || !is_batch_of_matrices(graph, product->inputs[0]) ||
      !is_batch_of_matrices(graph, product->inputs[1])) {
    return {};
  }
  return {product, catalogue.find(ondine_domain, "MatMulT"), 2};
}

bool take_bias(Node& node, ValueId y, ValueId bias, const Graph& graph, const Uses& uses,
               const Catalogue& catalogue) {
  if (!is_bias(graph, bias, y) || !same_tensor_type(graph, y, node.outputs[0])) return false;
  const BiasedProduct product = product_of(y, graph, uses, catalogue);
  if (product.fused == nullptr || NodeView(*product.node).has_input(product.bias)) return false;
  node.op = product.fused;
  node.version = 1;
  node.inputs = product.node->inputs;
  node.inputs.resize(product.bias, no_value);
  node.inputs.push_back(bias);
  node.attributes = product.node->attributes;
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
