// (a b) s, b being a matrix that is wider than a and s a number, becomes (a s) b: the last product
// of an adapter, whose scale then costs a few elements of each row, and a head whose scores are
// scaled, which is then a product again. Powers of 2, as scales mostly are, change no bit; other
// numbers round a in place of the product.
#include "graph/passes/fuse.h"
#include "graph/passes/recognize/attention_heads.h"

namespace ondine::graph {
namespace {

class Mover {
 public:
  Mover(Graph& graph, const Uses& uses) : graph_(&graph), uses_(&uses) {}

  bool operator()(Node& node, std::vector<Node>& before) const {
    if (node.op->name != "Mul" || !node.op->domain.empty()) return false;
    return moves(node, 0, before) || moves(node, 1, before);
  }

 private:
  bool moves(Node& node, std::size_t product_input, std::vector<Node>& before) const {
    const ValueId number = node.inputs[1 - product_input];
    const ValueId y = node.inputs[product_input];
    if (!uses_->number(number) || !is_full_float(*graph_, y)) return false;
    const Node* const product = uses_->producer_for(y, 1, "MatMul");
    if (product == nullptr || !is_widened(product->inputs[0], product->inputs[1])) return false;
    if (!same_tensor_type(*graph_, y, node.outputs[0])) return false;
    const Node multiply = node;
    const ValueId scaled =
        append_node(*graph_, before, *multiply.op, multiply.version, {product->inputs[0], number});
    node.op = product->op;
    node.version = product->version;
    node.inputs = {scaled, product->inputs[1]};
    node.attributes = product->attributes;
    return true;
  }

  bool is_widened(ValueId a, ValueId b) const {
    const Type& left = (*graph_)[a].type;
    const Type& right = (*graph_)[b].type;
    if (!left.ranked() || left.rank() < 2 || !right.ranked() || right.rank() != 2) return false;
    const Dim from = (*right.dims)[0];
    const Dim to = (*right.dims)[1];
    return from.known() && to.known() && from.size() < to.size();
  }

  Graph* graph_;
  const Uses* uses_;
};

bool run(Graph& graph, const PassContext&) {
  return fuse_inserting(graph, [&](Node& node, const Uses& uses, std::vector<Node>& before) {
    return Mover(graph, uses)(node, before);
  });
}

}  // namespace

const Pass scale_before_product{"scale_before_product", run};

}  // namespace ondine::graph
