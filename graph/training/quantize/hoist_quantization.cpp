#include "graph/training/quantize/hoist_quantization.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/parameters.h"

namespace ondine::graph {
namespace {

// Maxima and moved elements: rounding before them and after them is the same.
bool commutes(const NodeDef& node) {
  return node.domain.empty() && node.outputs.size() == 1 &&
         one_of(node.op,
                {"MaxPool", "Flatten", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Identity"});
}

class Hoister {
 public:
  explicit Hoister(ModelDef& model) : graph_(model.graph), names_(model) {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const std::string& name : reads_of(graph_.nodes[i])) ++readers_[name];
      for (const std::string& name : graph_.nodes[i].outputs) maker_[name] = i;
    }
    for (const ValueDef& output : graph_.outputs) ++readers_[output.name];
  }

  void run() {
    // Index of the quantization that moves in front of a node, by the node's index.
    std::map<std::size_t, std::size_t> moved;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!has_one_scale(graph_.nodes[i])) continue;
      if (const auto first = move_up(graph_.nodes[i])) moved.emplace(*first, i);
    }
    std::vector<NodeDef> ordered;
    std::set<std::size_t> done;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto before = moved.find(i);
      if (before != moved.end()) {
        ordered.push_back(std::move(graph_.nodes[before->second]));
        done.insert(before->second);
      }
      if (!done.contains(i)) ordered.push_back(std::move(graph_.nodes[i]));
    }
    graph_.nodes = std::move(ordered);
    std::erase_if(graph_.value_infos,
                  [&](const ValueDef& value) { return replaced_.contains(value.name); });
  }

 private:
  bool has_one_scale(const NodeDef& node) const {
    if (!is_standard(node, "QuantizeLinear")) return false;
    const InitializerDef* scale = find_initializer(graph_, node.inputs[1]);
    return scale != nullptr && scale->value.size() == 1;
  }

  // The first of the nodes in front of which it moved.
  std::optional<std::size_t> move_up(NodeDef& quantize) {
    std::vector<std::size_t> chain;
    for (std::string value = quantize.inputs[0]; readers_[value] == 1;) {
      const auto made = maker_.find(value);
      if (made == maker_.end() || !commutes(graph_.nodes[made->second])) break;
      chain.push_back(made->second);
      value = graph_.nodes[made->second].inputs[0];
    }
    if (chain.empty()) return {};
    std::string next = quantize.outputs[0];
    for (const std::size_t i : chain) {
      NodeDef& node = graph_.nodes[i];
      replaced_.insert(node.outputs[0]);
      node.outputs[0] = next;
      quantize.inputs[0] = node.inputs[0];
      next = node.inputs[0] = names_.fresh(node.inputs[0] + ".quantized");
    }
    quantize.outputs[0] = next;
    return chain.back();
  }

  GraphDef& graph_;
  Names names_;
  std::map<std::string, int> readers_;
  std::map<std::string, std::size_t> maker_;
  std::set<std::string> replaced_;
};

}  // namespace

void hoist_quantization(ModelDef& model) { Hoister(model).run(); }

}  // namespace ondine::graph
