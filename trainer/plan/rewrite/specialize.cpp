#include "trainer/plan/rewrite/specialize.h"

#include <algorithm>
#include <map>
#include <span>

#include "graph/contract/infer_node.h"
#include "graph/contract/op_def.h"
#include "graph/evaluate/evaluate_node.h"
#include "graph/passes/rewrite.h"
#include "trainer/plan/inputs.h"
#include "trainer/plan/rewrite/inline_branch.h"
#include "trainer/plan/schedule/order.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

// Larger results of constants are left to the passes that run once when a model is loaded.
constexpr std::int64_t largest_fold = 4096;

bool outputs_constant(const Node& node, const Graph& graph) {
  return std::all_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId id) { return id == no_value || graph[id].constant->defined(); });
}

bool can_compute_now(const Node& node, const Graph& graph) {
  if (node.op->traits.random || !node.subgraphs.empty() || node.op->bind == nullptr) return false;
  const bool inputs_known = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
    return id == no_value || graph[id].constant->defined();
  });
  if (!inputs_known) return false;
  return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
    return id == no_value ||
           (has_fixed_size(graph[id].type) && graph[id].type.shape()->size() <= largest_fold);
  });
}

void compute_now(const Node& node, Graph& graph, const Limits& limits) {
  const auto results = evaluate_node(node, graph, limits);
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (node.outputs[k] != no_value) graph[node.outputs[k]].constant = results[k];
  }
}

void drop_unneeded(Graph& graph) {
  std::vector<bool> needed(graph.values.size());
  const auto need = [&](ValueId id) {
    if (id != no_value) needed[static_cast<std::size_t>(id)] = true;
  };
  for (const ValueId id : graph.outputs) need(id);
  auto kept = graph.nodes.end();
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    Node& node = graph.nodes[i];
    const bool used = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
      return id != no_value && needed[static_cast<std::size_t>(id)];
    });
    if (!used) continue;
    for_each_input(node, need);
    // Kernels ask for their first output without looking whether it is wanted.
    for (ValueId& id : std::span(node.outputs).subspan(1)) {
      if (id != no_value && !needed[static_cast<std::size_t>(id)]) id = no_value;
    }
    if (--kept != graph.nodes.begin() + static_cast<std::ptrdiff_t>(i)) *kept = std::move(node);
  }
  graph.nodes.erase(graph.nodes.begin(), kept);
}

// Types nodes in their order and keeps those that are not computed now.
class Specializer {
 public:
  Specializer(Graph& graph, const Limits& limits) : graph_(graph), limits_(limits) {}

  void run() {
    const auto holds_none = [](const Node& node) { return node.subgraphs.empty(); };
    if (std::ranges::all_of(graph_.nodes, holds_none)) {
      return keep_nodes(graph_, [&](Node& node, std::size_t) { return type(node); });
    }
    std::vector<Node> nodes = std::move(graph_.nodes);
    kept_.reserve(nodes.size());
    for (Node& node : nodes) add(std::move(node));
    graph_.nodes = std::move(kept_);
  }

 private:
  // With the nodes of a branch in place of the node that takes it.
  void add(Node node) {
    rename(node.inputs);
    rename(node.references);
    for (Subgraph& subgraph : node.subgraphs) rename(subgraph.captures);
    if (auto branch = inline_taken_branch(node, graph_)) {
      for (Node& inner : branch->nodes) add(std::move(inner));
      for (const auto& [output, value] : branch->same) same_[output] = renamed(value);
      return;
    }
    if (type(node)) kept_.push_back(std::move(node));
  }

  // Whether the node is still to be run.
  bool type(Node& node) {
    infer_node(node, graph_);
    with_context(
        [&] {
          if (!outputs_constant(node, graph_) && can_compute_now(node, graph_)) {
            compute_now(node, graph_, limits_);
          }
        },
        [&] { return describe(node, graph_); });
    return !outputs_constant(node, graph_);
  }

  ValueId renamed(ValueId id) const {
    const auto found = same_.find(id);
    return found == same_.end() ? id : found->second;
  }
  void rename(std::span<ValueId> ids) const {
    if (same_.empty()) return;
    for (ValueId& id : ids) id = renamed(id);
  }

  Graph& graph_;
  const Limits& limits_;
  std::vector<Node> kept_;
  std::map<ValueId, ValueId> same_;  // results of inlined branches that are other values
};

}  // namespace

bool is_static(const Node& node, const Graph& graph) {
  if (!node.subgraphs.empty()) return false;
  const auto fixed = [&](ValueId id) { return id == no_value || has_fixed_size(graph[id].type); };
  return std::all_of(node.inputs.begin(), node.inputs.end(), fixed) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), fixed);
}

Graph specialize(const Graph& graph, std::span<const Type> inputs, std::span<const ValueId> outputs,
                 const Limits& limits) {
  // Without an index of names, which few plans need.
  Graph typed;
  typed.name = graph.name;
  typed.symbols = graph.symbols;
  typed.values = graph.values;
  typed.nodes = graph.nodes;
  typed.inputs = graph.inputs;
  typed.outputs.assign(outputs.begin(), outputs.end());
  drop_unneeded(typed);
  // Shapes come from inference alone: a declared dim says nothing of what inference needs to
  // know, and feeds were compared with the declarations before.
  for (GraphValue& value : typed.values) value.declared = {};
  for (std::size_t i = 0; i < typed.inputs.size(); ++i) set_type(typed, typed.inputs[i], inputs[i]);
  Specializer(typed, limits).run();
  drop_unneeded(typed);
  drop_unread_constants(typed);
  return typed;
}

}  // namespace ondine::trainer
