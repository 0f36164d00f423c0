#include "graph/training/inference_mode.h"

#include <algorithm>
#include <set>

#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/initializers.h"
#include "graph/training/prepare/uses.h"

namespace ondine::graph {
namespace {

using Used = std::set<std::string, std::less<>>;

Used values_read(const GraphDef& graph) {
  Used result;
  for (const ValueDef& output : graph.outputs) result.insert(output.name);
  for (const NodeDef& node : graph.nodes) {
    for (const std::string& name : reads_of(node)) result.insert(name);
  }
  return result;
}

void batch_normalization(NodeDef& node, const Used& used) {
  const bool read = std::any_of(node.outputs.begin() + 1, node.outputs.end(),
                                [&](const std::string& name) { return used.count(name) != 0; });
  if (read) return;
  node.outputs.resize(1);
  std::erase_if(node.attributes,
                [](const Attribute& attribute) { return attribute.name == "training_mode"; });
}

void dropout(NodeDef& node, const InitializerIndex& initializers, const Producers& producers) {
  if (node.inputs.size() < 3) return;
  const std::string& mode = node.inputs[2];
  const NodeDef* producer = standard_producer(producers, mode);
  const bool constant = mode.empty() || initializers.find(mode) != nullptr ||
                        (producer != nullptr && one_of(producer->op, {"Constant", "Identity"}));
  if (constant) node.inputs.resize(2);
}

}  // namespace

void set_inference_mode(GraphDef& graph) {
  const auto has_mode = [](const NodeDef& node) {
    return node.domain.empty() && one_of(node.op, {"BatchNormalization", "Dropout"});
  };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), has_mode)) return;
  const Used used = values_read(graph);
  const Producers producers = producers_of(graph);
  const InitializerIndex initializers(graph);
  for (NodeDef& node : graph.nodes) {
    if (!node.domain.empty() || node.outputs.empty()) continue;
    if (node.op == "BatchNormalization") batch_normalization(node, used);
    if (node.op == "Dropout") dropout(node, initializers, producers);
  }
}

}  // namespace ondine::graph
