// Operations that a product can apply to its results before it stores them, if nothing else reads
// them: Relu, and Clip to [0, 6], of a Conv or Gemm become ConvActivation and GemmActivation. The
// sum of a MatMul and one number for each column, or a tensor of the shape of its result, becomes
// MatMulT, which takes such activations too, and DequantizeMatMul takes such a bias. In a sum of
// several products each takes the sum of those before it.
#include <algorithm>
#include <utility>

#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

const char* name_of(const ActivationNode& activation) {
  if (activation.relu) return "Relu";
  return activation.low == 0.0F && activation.high == 6.0F ? "Relu6" : nullptr;
}

// Makes the node the product, as a version of the operator `fused`.
void become(Node& node, const Node& product, const OpDef* fused, std::int64_t version) {
  node.op = fused;
  node.version = version;
  node.inputs = product.inputs;
  node.attributes = product.attributes;
}

bool fuse_activation_of(Node& node, const Graph& graph, const Uses& uses,
                        const PassContext& context) {
  const auto activation = read_activation(node, graph);
  const char* name = activation ? name_of(*activation) : nullptr;
  if (name == nullptr || !is_full_float(graph, node.outputs[0])) return false;
  const auto apply_in = [&](const Node& product, const OpDef* fused) {
    become(node, product, fused, product.version);
    node.attributes.emplace_back("activation", std::string(name));
    return true;
  };
  for (const char* op : {"Conv", "Gemm"}) {
    const Node* product = uses.sole_producer(node.inputs[0], op);
    const OpDef* fused = context.catalogue->find(ondine_domain, cat(op, "Activation"));
    if (product != nullptr && fused != nullptr) return apply_in(*product, fused);
  }
  const Node* product = uses.sole_producer(node.inputs[0], "MatMulT", ondine_domain);
  if (product == nullptr || NodeView(*product).has_attr("activation")) return false;
  return apply_in(*product, product->op);
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

constexpr std::size_t matmul_bias = 2;  // the inputs of MatMulT
constexpr std::size_t matmul_addend = 3;

// A product that can take a bias, and the index of that input.
struct BiasedProduct {
  const Node* node = nullptr;
  const OpDef* fused = nullptr;
  std::size_t bias = matmul_bias;
};

// A MatMulT without activation, or a MatMul that can become one.
BiasedProduct matmul_of(ValueId y, const Graph& graph, const Uses& uses,
                        const Catalogue& catalogue) {
  const Node* product = uses.sole_producer(y, "MatMulT", ondine_domain);
  if (product != nullptr) {
    if (NodeView(*product).has_attr("activation")) return {};
    return {product, product->op};
  }
  product = uses.sole_producer(y, "MatMul");
  if (product == nullptr || !is_batch_of_matrices(graph, product->inputs[0]) ||
      !is_batch_of_matrices(graph, product->inputs[1])) {
    return {};
  }
  return {product, catalogue.find(ondine_domain, "MatMulT")};
}

BiasedProduct product_of(ValueId y, const Graph& graph, const Uses& uses,
                         const Catalogue& catalogue) {
  const Node* product = uses.sole_producer(y, "DequantizeMatMul", ondine_domain);
  if (product != nullptr) return {product, product->op, 4};
  return matmul_of(y, graph, uses, catalogue);
}

// Makes the node the product with one more input.
void become_product(Node& node, const BiasedProduct& product, std::size_t index, ValueId input) {
  become(node, *product.node, product.fused, 1);
  node.inputs.resize(std::max(node.inputs.size(), index + 1), no_value);
  node.inputs[index] = input;
}

bool take_bias(Node& node, ValueId y, ValueId bias, const Graph& graph, const Uses& uses,
               const Catalogue& catalogue) {
  if (!is_bias(graph, bias, y) || !same_tensor_type(graph, y, node.outputs[0])) return false;
  const BiasedProduct product = product_of(y, graph, uses, catalogue);
  if (product.fused == nullptr || NodeView(*product.node).has_input(product.bias)) return false;
  become_product(node, product, product.bias, bias);
  return true;
}

bool is_sum(const Node& node, const Graph& graph) {
  const bool adds = node.op->name == "Add" || node.op->name == "Sum";
  return adds && node.op->domain.empty() && is_full_float(graph, node.outputs[0]);
}

bool fuse_bias(Node& node, const Graph& graph, const Uses& uses, const Catalogue& catalogue) {
  if (!is_sum(node, graph) || node.inputs.size() != 2) return false;
  const ValueId a = node.inputs[0];
  const ValueId b = node.inputs[1];
  return take_bias(node, a, b, graph, uses, catalogue) ||
         take_bias(node, b, a, graph, uses, catalogue);
}

// Sums of tensors of one shape. The last product becomes the sum. Each of the others takes the sum
// of what comes before it where it is computed, so that no more results are kept than of one.
class AddendFusion {
 public:
  AddendFusion(Graph& graph, const Catalogue& catalogue)
      : graph_(graph), catalogue_(catalogue), after_(graph.values.size()) {
    for (const Node& node : graph.nodes) {
      for (const ValueId id : node.outputs) {
        if (id != no_value) after_[static_cast<std::size_t>(id)] = position(node) + 1;
      }
    }
  }

  bool fuse(Node& node, const Uses& uses) {
    if (!is_sum(node, graph_)) return false;
    std::vector<ValueId> others;
    std::vector<BiasedProduct> products;
    for (const ValueId id : node.inputs) {
      if (!same_tensor_type(graph_, id, node.outputs[0])) return false;
      const BiasedProduct product = matmul_of(id, graph_, uses, catalogue_);
      const bool takes =
          product.fused != nullptr && !NodeView(*product.node).has_input(matmul_addend);
      takes ? products.push_back(product) : others.push_back(id);
    }
    std::ranges::sort(products, {}, &BiasedProduct::node);
    if (others.empty() && products.size() > 1) {
      others.push_back(products.front().node->outputs[0]);
      products.erase(products.begin());
    }
    if (products.empty() || others.empty()) return false;

    std::size_t at = 0;
    for (const ValueId id : others) at = std::max(at, after_[static_cast<std::size_t>(id)]);
    const auto insert = [&](Node more) {
      const GraphValue& whole = graph_[node.outputs[0]];
      more.outputs = {graph_.add_temporary(whole.name + "_part", whole.type)};
      insertions_.push_back({at, {std::move(more)}});
      return insertions_.back().nodes[0].outputs[0];
    };
    ValueId sum = others.front();
    if (others.size() > 1) {
      Node rest = node;
      rest.inputs = others;
      sum = insert(std::move(rest));
    }
    for (std::size_t i = 0; i + 1 < products.size(); ++i) {
      at = std::max(at, position(*products[i].node));
      Node next = node;
      become_product(next, products[i], matmul_addend, sum);
      sum = insert(std::move(next));
    }
    become_product(node, products.back(), matmul_addend, sum);
    return true;
  }

  void insert_parts() {
    std::ranges::stable_sort(insertions_, {}, &Insertion::position);
    insert_nodes(graph_, std::move(insertions_));
  }

 private:
  std::size_t position(const Node& node) const {
    return static_cast<std::size_t>(&node - graph_.nodes.data());
  }

  Graph& graph_;
  const Catalogue& catalogue_;
  std::vector<std::size_t> after_;  // by value: the position after its node
  std::vector<Insertion> insertions_;
};

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  AddendFusion addends(graph, *context.catalogue);
  const bool changed = fuse_nodes(graph, [&](Node& node, const Uses& uses) {
    return fuse_activation_of(node, graph, uses, context) ||
           fuse_bias(node, graph, uses, *context.catalogue) || addends.fuse(node, uses);
  });
  addends.insert_parts();
  return changed;
}

}  // namespace

const Pass fuse_activation{"fuse_activation", run};

}  // namespace ondine::graph
