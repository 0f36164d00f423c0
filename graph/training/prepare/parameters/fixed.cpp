#include "graph/training/prepare/parameters/fixed.h"

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/origin.h"
#include "graph/training/prepare/uses.h"

namespace ondine::graph {
namespace {

bool is_of_channels(const Shape& shape) {
  return shape.rank() >= 3 && shape[1] > 1 && shape.size() == shape[1];
}

// The input of a binary node that `list` contains; 2 for none.
std::size_t listed_input(const NodeDef& node, std::string_view op, const Strings& list) {
  if (!is_standard(node, op) || node.inputs.size() != 2) return 2;
  if (list.contains(node.inputs[0])) return 0;
  return list.contains(node.inputs[1]) ? 1 : 2;
}

// Values that depend on no input, and the one module of whose parameters and statistics each is
// computed. Those of which more modules have statistics are computed by no normalization.
class ModuleValues {
 public:
  explicit ModuleValues(const GraphDef& graph) : producers_(producers_of(graph)) {
    for (const InitializerDef& one : graph.initializers) {
      if (is_statistic(one.name)) with_statistics_.insert(owner_of(one.name));
    }
    if (with_statistics_.empty()) return;
    for (const InitializerDef& one : graph.initializers) {
      const std::string_view owner = owner_of(one.name);
      const bool counts = with_statistics_.contains(owner);
      values_[one.name] = {counts ? owner : std::string_view(), is_statistic(one.name)};
    }
    for (const NodeDef& node : graph.nodes) define(node);
  }

  Strings parameters() {
    Strings found;
    std::vector<std::string_view> open;
    std::unordered_set<std::string_view> seen;
    const auto reach = [&](std::string_view name) {
      if (!values_.at(name).module.empty() && seen.insert(name).second) open.push_back(name);
    };
    for (const auto& [name, value] : values_) {
      if (value.has_statistic && producers_.contains(name)) reach(name);
    }
    while (!open.empty()) {
      const std::string_view name = open.back();
      open.pop_back();
      const auto producer = producers_.find(name);
      if (producer == producers_.end()) {
        found.emplace(name);
        continue;
      }
      for (const std::string& read : reads_of(*producer->second)) reach(values_.find(read)->first);
    }
    return found;
  }

 private:
  struct Value {
    std::string_view module;  // "" for none and for several
    bool has_statistic = false;
  };

  void define(const NodeDef& node) {
    Value made;
    bool is_mixed = false;
    for (const std::string& read : reads_of(node)) {
      const auto found = values_.find(read);
      if (found == values_.end()) return;
      const Value& value = found->second;
      is_mixed = is_mixed ||
                 (!made.module.empty() && !value.module.empty() && made.module != value.module);
      if (made.module.empty()) made.module = value.module;
      made.has_statistic = made.has_statistic || value.has_statistic;
    }
    if (is_mixed) made = {};
    for (const std::string& output : node.outputs) {
      if (!output.empty()) values_[output] = made;
    }
  }

  Producers producers_;
  std::unordered_set<std::string_view> with_statistics_;
  std::unordered_map<std::string_view, Value> values_;
};

}  // namespace

Strings folded_normalizations(const GraphDef& graph) {
  Strings channels;
  for (const InitializerDef& one : graph.initializers) {
    if (is_differentiable(one.value.dtype()) && is_generated_name(one.name) &&
        is_of_channels(one.value.shape())) {
      channels.insert(one.name);
    }
  }
  Strings found;
  if (channels.empty()) return found;
  const Producers producers = producers_of(graph);
  for (const NodeDef& node : graph.nodes) {
    const std::size_t term = listed_input(node, "Add", channels);
    const NodeDef* product =
        term == 2 ? nullptr : standard_producer(producers, node.inputs[1 - term]);
    const std::size_t factor = product == nullptr ? 2 : listed_input(*product, "Mul", channels);
    const NodeDef* layer =
        factor == 2 ? nullptr : standard_producer(producers, product->inputs[1 - factor]);
    if (layer == nullptr || layer->op != "Conv" || layer->inputs.size() != 2) continue;
    found.insert(node.inputs[term]);
    found.insert(product->inputs[factor]);
  }
  return found;
}

Strings named_normalizations(const GraphDef& graph) { return ModuleValues(graph).parameters(); }

}  // namespace ondine::graph
