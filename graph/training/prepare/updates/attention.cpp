#include "graph/training/prepare/updates/attention.h"

#include <algorithm>
#include <string_view>

#include "graph/training/prepare/names.h"
#include "graph/training/prepare/uses.h"

namespace ondine::graph {
namespace {

bool is_operator_of_attention(const NodeDef& node) {
  return node.op.ends_with("Attention") && (node.domain.empty() || node.domain == "com.microsoft");
}

// Looks behind what keeps the weights of attention what they are.
bool comes_from_softmax(const Producers& producers, std::string_view value) {
  constexpr int longest = 8;
  for (int i = 0; i < longest; ++i) {
    const NodeDef* node = standard_producer(producers, value);
    if (node == nullptr || node->inputs.empty()) return false;
    if (node->op == "Softmax") return true;
    // The weights of rows without any key are zeros: Where(is_nan, 0, weights).
    const std::size_t place = node->op == "Where" ? 2 : 0;
    if (!one_of(node->op, {"Dropout", "Cast", "Identity", "Reshape", "Transpose", "Where"}) ||
        node->inputs.size() <= place) {
      return false;
    }
    value = node->inputs[place];
  }
  return false;
}

bool attends(std::span<const NodeDef> nodes) {
  const Producers producers = producers_of(nodes);
  return std::any_of(nodes.begin(), nodes.end(), [&](const NodeDef& node) {
    if (is_operator_of_attention(node)) return true;
    const auto bodies = subgraphs_of(node);
    if (std::any_of(bodies.begin(), bodies.end(),
                    [](const auto& body) { return attends(body->nodes); })) {
      return true;
    }
    if (!is_standard(node, "MatMul") && !is_standard(node, "Einsum")) return false;
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](const std::string& input) {
      return comes_from_softmax(producers, input);
    });
  });
}

}  // namespace

bool has_attention(const ModelDef& model) {
  return attends(model.graph.nodes) ||
         std::any_of(model.functions.begin(), model.functions.end(),
                     [](const FunctionDef& one) { return attends(one.nodes); });
}

}  // namespace ondine::graph
