#include "graph/training/prepare/uses.h"

#include <algorithm>
#include <set>

#include "core/stop.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/paths.h"

namespace ondine::graph {

Producers producers_of(std::span<const NodeDef> nodes) {
  Producers result;
  for (const NodeDef& node : nodes) {
    checkpoint(64);
    for (const std::string& output : node.outputs) {
      if (!output.empty()) result[output] = &node;
    }
  }
  return result;
}

const NodeDef* standard_producer(const Producers& producers, std::string_view value) {
  const auto found = producers.find(value);
  return found != producers.end() && found->second->domain.empty() ? found->second : nullptr;
}

bool only_moves(const NodeDef& node) noexcept {
  return node.domain.empty() &&
         one_of(node.op, {"Cast", "DequantizeLinear", "Expand", "Flatten", "Gather", "Identity",
                          "QuantizeLinear", "Reshape", "Slice", "Split", "Squeeze", "Tile",
                          "Transpose", "Unsqueeze"});
}

void DocumentUses::collect(const GraphDef& graph) {
  for (const NodeDef& node : graph.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].empty()) readers_[node.inputs[i]].push_back({&node, i});
    }
    for (const auto& subgraph : subgraphs_of(node)) collect(*subgraph);
  }
}

std::span<const Use> DocumentUses::direct(std::string_view name) const {
  const auto found = readers_.find(name);
  return found == readers_.end() ? std::span<const Use>() : found->second;
}

std::vector<Use> DocumentUses::of(std::string_view name) const {
  std::vector<Use> result;
  std::set<std::string_view> seen{name};
  std::vector<std::string_view> open{name};
  while (!open.empty()) {
    const auto found = readers_.find(open.back());
    open.pop_back();
    if (found == readers_.end()) continue;
    for (const Use& use : found->second) {
      if (!only_moves(*use.node) || use.input != 0) {
        result.push_back(use);
        continue;
      }
      for (const std::string& output : use.node->outputs) {
        if (!output.empty() && seen.insert(output).second) open.push_back(output);
      }
    }
  }
  return result;
}

bool DocumentUses::gives_angles(std::string_view name, bool both) const {
  constexpr std::size_t most_products = 16;  // few chains of products are longer
  bool sine = false;
  bool cosine = false;
  std::set<std::string_view> seen{name};
  std::vector<std::string_view> open{name};
  while (!open.empty()) {
    const std::vector<Use> readers = of(open.back());
    open.pop_back();
    if (readers.empty() || seen.size() > most_products) return false;
    for (const auto& [node, input] : readers) {
      if (is_standard(*node, "Sin")) {
        sine = true;
      } else if (is_standard(*node, "Cos")) {
        cosine = true;
      } else if (!node->domain.empty() || node->outputs.empty() ||
                 !one_of(node->op, {"Concat", "Div", "Einsum", "MatMul", "Mul"})) {
        return false;
      } else if (seen.insert(node->outputs[0]).second) {
        open.push_back(node->outputs[0]);
      }
    }
  }
  return both ? sine && cosine : sine || cosine;
}

}  // namespace ondine::graph
