#include "graph/passes/fuse/product_update.h"

#include "graph/contract/node_view.h"

namespace ondine::graph {

bool is_sole_product(const Node& gemm) {
  const NodeView view(gemm);
  return !view.has_input(2) && view.attr_float("alpha", 1) == 1;
}

void update_by_product(Node& node, const OpDef& op, std::size_t gradient, std::size_t like,
                       const Node& product, const Node* lookup) {
  const std::vector<ValueId> from = std::move(node.inputs);
  node.inputs = {product.inputs[0], product.inputs[1], lookup ? lookup->inputs[0] : no_value,
                 lookup ? lookup->inputs[1] : no_value};
  const std::size_t first = node.inputs.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (i != gradient) node.inputs.push_back(from[i]);
  }
  const NodeView view(product);
  node.attributes.emplace_back("optimizer", std::string(node.op->name));
  node.attributes.emplace_back("gradient", static_cast<std::int64_t>(gradient));
  node.attributes.emplace_back(
      "like", static_cast<std::int64_t>(first + (like < gradient ? like : like - 1)));
  node.attributes.emplace_back("transA", view.attr_int("transA", 0));
  node.attributes.emplace_back("transB", view.attr_int("transB", 0));
  node.op = &op;
  node.version = 1;
}

}  // namespace ondine::graph
