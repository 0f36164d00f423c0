#include "tests/fuzz/random_operators.h"

#include <algorithm>
#include <memory>

namespace ondine::test {
namespace {

using namespace graph;  // NOLINT

bool any_random(const std::vector<NodeDef>& nodes);

bool is_random(const NodeDef& node) {
  if (node.op.starts_with("Random") || node.op == "Dropout" || node.op == "Bernoulli" ||
      node.op == "Multinomial") {
    return true;
  }
  return std::ranges::any_of(node.attributes, [](const Attribute& attribute) {
    const auto* body = std::get_if<std::shared_ptr<const GraphDef>>(&attribute.data);
    return body != nullptr && any_random((*body)->nodes);
  });
}

bool any_random(const std::vector<NodeDef>& nodes) { return std::ranges::any_of(nodes, is_random); }

}  // namespace

bool has_random_operators(const ModelDef& model) {
  const auto of_function = [](const FunctionDef& function) { return any_random(function.nodes); };
  const auto of_step = [](const TrainingInfoDef& info) {
    return info.algorithm && any_random(info.algorithm->nodes);
  };
  return any_random(model.graph.nodes) || std::ranges::any_of(model.functions, of_function) ||
         std::ranges::any_of(model.training, of_step);
}

}  // namespace ondine::test
