#include "graph/training/evaluation_mode.h"

#include <algorithm>

#include "graph/training/prepare/names.h"
#include "graph/training/prepare/uses.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t first_without_is_test = 7;

void set(NodeDef& node, const std::string& name, std::int64_t value) {
  std::erase_if(node.attributes, [&](const Attribute& one) { return one.name == name; });
  node.attributes.emplace_back(name, value);
}

void set_dropout(NodeDef& node, std::int64_t opset) {
  if (opset < first_without_is_test) return set(node, "is_test", 1);
  if (node.inputs.size() > 2) node.inputs.resize(2);
}

NodeDef identity(const std::string& input, const std::string& output) {
  NodeDef node;
  node.op = "Identity";
  node.inputs = {input};
  node.outputs = {output};
  return node;
}

// Appends nodes that define the outputs which the node no longer has.
void set_batch_normalization(NodeDef& node, std::int64_t opset, std::vector<NodeDef>& added) {
  if (opset < first_without_is_test) {
    set(node, "is_test", 1);
  } else {
    std::erase_if(node.attributes,
                  [](const Attribute& one) { return one.name == "training_mode"; });
  }
  constexpr std::size_t mean = 3;
  constexpr std::size_t variance = 4;
  if (node.inputs.size() <= variance) return;
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    added.push_back(identity(node.inputs[i % 2 == 1 ? mean : variance], node.outputs[i]));
  }
  node.outputs.resize(std::min<std::size_t>(node.outputs.size(), 1));
}

class ComposedDropout {
 public:
  explicit ComposedDropout(const std::vector<NodeDef>& nodes) : producers_(producers_of(nodes)) {}

  // The x of x * (mask * scale) with mask = Cast(Not(RandomUniformLike(x) < ratio)); "" for other
  // nodes.
  std::string input_of(const NodeDef& node) const {
    if (!is_standard(node, "Mul") || node.inputs.size() != 2) return {};
    const NodeDef* at = made_by(node.inputs[1], "Mul");
    for (const char* op : {"Cast", "Not", "Less", "RandomUniformLike"}) {
      if (at == nullptr || at->inputs.empty()) return {};
      at = made_by(at->inputs[0], op);
    }
    const std::string& x = node.inputs[0];
    return at != nullptr && at->inputs.size() == 1 && at->inputs[0] == x ? x : std::string();
  }

 private:
  const NodeDef* made_by(const std::string& value, std::string_view op) const {
    const NodeDef* found = standard_producer(producers_, value);
    return found != nullptr && found->op == op ? found : nullptr;
  }

  Producers producers_;
};

void set_subgraphs(Attribute& attribute, std::int64_t opset) {
  const auto change = [&](std::shared_ptr<const GraphDef>& subgraph) {
    auto copy = std::make_shared<GraphDef>(*subgraph);
    set_evaluation_mode(copy->nodes, opset);
    subgraph = std::move(copy);
  };
  if (auto* one = std::get_if<std::shared_ptr<const GraphDef>>(&attribute.data)) change(*one);
  if (auto* many = std::get_if<std::vector<std::shared_ptr<const GraphDef>>>(&attribute.data)) {
    for (auto& subgraph : *many) change(subgraph);
  }
}

}  // namespace

void set_evaluation_mode(std::vector<NodeDef>& nodes, std::int64_t opset) {
  std::vector<std::string> passed;
  {
    const ComposedDropout composed(nodes);
    for (const NodeDef& node : nodes) passed.push_back(composed.input_of(node));
  }
  std::vector<NodeDef> result;
  result.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    NodeDef& node = result.emplace_back(std::move(nodes[i]));
    for (Attribute& attribute : node.attributes) set_subgraphs(attribute, opset);
    if (!node.domain.empty()) continue;
    if (!passed[i].empty()) node = identity(passed[i], std::string(node.outputs.at(0)));
    if (node.op == "Dropout") set_dropout(node, opset);
    if (node.op != "BatchNormalization") continue;
    std::vector<NodeDef> added;
    set_batch_normalization(node, opset, added);
    std::move(added.begin(), added.end(), std::back_inserter(result));
  }
  nodes = std::move(result);
}

}  // namespace ondine::graph
