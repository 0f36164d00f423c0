#include "graph/passes/fuse/update_by_gradient.h"

#include "graph/contract/catalogue.h"

namespace ondine::graph {

UpdateFuser::UpdateFuser(const Catalogue& catalogue)
    : gemm_update_(catalogue.find(ondine_domain, "GemmUpdate")),
      projected_update_(catalogue.find(ondine_domain, "ProjectedUpdate")) {}

std::optional<GradientByParts> UpdateFuser::gradient_of(ValueId id, ValueId variable,
                                                        const Node* lookup,
                                                        const Uses& uses) const {
  if (const Node* const product = uses.sole_producer(id, "Gemm")) return by_product(*product);
  const Node* const head = uses.sole_producer(id, "ProjectedWeightGrad", ondine_domain);
  return head != nullptr ? by_head(*head, variable, lookup) : std::nullopt;
}

std::optional<GradientByParts> UpdateFuser::by_product(const Node& product) const {
  const NodeView view(product);
  if (gemm_update_ == nullptr || view.has_input(2) || view.attr_float("alpha", 1) != 1) {
    return std::nullopt;
  }
  return GradientByParts{
      gemm_update_,
      {product.inputs[0], product.inputs[1]},
      {{"transA", view.attr_int("transA", 0)}, {"transB", view.attr_int("transB", 0)}}};
}

std::optional<GradientByParts> UpdateFuser::by_head(const Node& head, ValueId variable,
                                                    const Node* lookup) const {
  const bool has_class_rows = NodeView(head).attr_int("transposed", 0) != 0;
  if (projected_update_ == nullptr || head.inputs[2] != variable) return std::nullopt;
  if (lookup != nullptr && !has_class_rows) return std::nullopt;
  return GradientByParts{projected_update_,
                         {head.inputs[0], head.inputs[1], head.inputs[3], head.inputs[4]},
                         head.attributes};
}

void UpdateFuser::fuse(Node& node, std::size_t gradient, std::size_t like, GradientByParts by,
                       const Node* lookup) const {
  const std::vector<ValueId> from = std::move(node.inputs);
  node.inputs = {lookup ? lookup->inputs[0] : no_value, lookup ? lookup->inputs[1] : no_value,
                 no_value};
  node.inputs.insert(node.inputs.end(), by.sources.begin(), by.sources.end());
  const std::size_t first = node.inputs.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (i != gradient) node.inputs.push_back(from[i]);
  }
  node.attributes.emplace_back("optimizer", std::string(node.op->name));
  node.attributes.emplace_back("gradient", static_cast<std::int64_t>(gradient));
  node.attributes.emplace_back(
      "like", static_cast<std::int64_t>(first + (like < gradient ? like : like - 1)));
  node.attributes.insert(node.attributes.end(), by.attributes.begin(), by.attributes.end());
  node.op = by.update;
  node.version = 1;
}

}  // namespace ondine::graph
