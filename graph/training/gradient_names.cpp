#include "graph/training/gradient_names.h"

#include "graph/ir/attribute_value.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {

std::optional<GradientNames> gradient_names(const NodeDef& node) {
  using List = std::vector<std::string>;
  if (node.op != "Gradient" || node.domain != training_domain) return std::nullopt;
  const Attribute* xs = find(node.attributes, "xs");
  const Attribute* zs = find(node.attributes, "zs");
  const Attribute* y = find(node.attributes, "y");
  if (xs == nullptr || y == nullptr) return std::nullopt;
  GradientNames result;
  result.xs = value_of<List>(*xs, node.op);
  if (zs != nullptr) result.zs = value_of<List>(*zs, node.op);
  result.y = value_of<std::string>(*y, node.op);
  return result;
}

std::vector<std::string> named_by_gradients(const NodeDef& node) {
  std::vector<std::string> result;
  if (const auto names = gradient_names(node)) {
    result = names->xs;
    result.insert(result.end(), names->zs.begin(), names->zs.end());
    result.push_back(names->y);
  }
  for (const auto& subgraph : subgraphs_of(node)) {
    for (const NodeDef& inner : subgraph->nodes) {
      for (std::string& name : named_by_gradients(inner)) result.push_back(std::move(name));
    }
  }
  return result;
}

}  // namespace ondine::graph
