#include "graph/training/prepare/parameters/layers.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "graph/training/prepare/names.h"

namespace ondine::graph {

Layers::Layers(const GraphDef& graph, const Strings& live) : producers_(producers_of(graph)) {
  for (const InitializerDef& one : graph.initializers) parameters_.insert(one.name);
  std::vector<const NodeDef*> layers;
  for (const NodeDef& node : graph.nodes) {
    if (reads_both(node) &&
        std::any_of(node.outputs.begin(), node.outputs.end(),
                    [&](const std::string& name) { return live.count(name); })) {
      layers.push_back(&node);
    }
  }
  for (auto node = layers.rbegin(); node != layers.rend(); ++node) number(**node);
}

std::size_t Layers::number_of(const std::string& parameter) const {
  const auto found = number_.find(parameter);
  return found == number_.end() ? std::numeric_limits<std::size_t>::max() : found->second;
}

// Whether the node reads both parameters and data. The outputs of a node that reads parameters
// alone hold parameters alone.
bool Layers::reads_both(const NodeDef& node) {
  bool parameters = false;
  bool data = false;
  for (const std::string& name : reads_of(node)) {
    (parameters_.contains(name) ? parameters : data) = true;
  }
  if (data) return parameters;
  for (const std::string& output : node.outputs) {
    if (!output.empty()) parameters_.insert(output);
  }
  return false;
}

void Layers::number(const NodeDef& node) {
  const auto merged = merged_.find(&node);
  const std::size_t layer = merged == merged_.end() ? count_++ : merged->second;
  for (const std::string& name : reads_of(node)) {
    if (const auto known = parameters_.find(name); known != parameters_.end()) {
      number_behind(*known, layer);
      continue;
    }
    const auto producer = producers_.find(name);
    if (node.op == "Add" && producer != producers_.end() && makes_products(producer->second->op)) {
      merged_[producer->second] = layer;
    }
  }
}

// Numbers what a value was computed from, unless a later layer has it. Every value is visited once.
void Layers::number_behind(std::string_view value, std::size_t layer) {
  std::vector<std::string_view> open{value};
  while (!open.empty()) {
    const std::string_view name = open.back();
    open.pop_back();
    if (!number_.try_emplace(name, layer).second) continue;
    const auto producer = producers_.find(name);
    if (producer == producers_.end()) continue;
    for (const std::string& read : reads_of(*producer->second)) {
      if (const auto known = parameters_.find(read); known != parameters_.end()) {
        open.push_back(*known);
      }
    }
  }
}

}  // namespace ondine::graph
