#include "trainer/plan/rewrite/roundable.h"

#include <algorithm>
#include <utility>

#include "graph/contract/aliasing.h"
#include "trainer/model/conversion_node.h"
#include "trainer/plan/rewrite/recompute.h"
#include "trainer/plan/rewrite/rounded_values.h"
#include "trainer/plan/rewrite/specialize.h"
#include "trainer/plan/schedule/order.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

constexpr std::size_t least_rounded = std::size_t{64} << 10;  // of a value: fewer stay in a cache

}  // namespace

RoundableDefinitions::RoundableDefinitions(const Graph& graph, const Lifetimes& lives,
                                           const BindOptions& options)
    : graph_(graph), options_(options), uses_(graph.values.size()) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const RoundedInputs inputs = rounded_inputs(node, graph, options);
    const auto has = [](std::uint32_t mask, std::size_t k) { return k < 32 && (mask >> k & 1U); };
    for (std::size_t k = 0; k < node.all_inputs().size(); ++k) {
      const ValueId id = node.all_inputs()[k];
      if (id == no_value || (k == 0 && viewed_input(node) == id)) continue;
      if (has(inputs.rounded, k)) continue;
      uses_[index(lives.root(id))].push_back({i, k < node.inputs.size() && has(inputs.read, k)});
    }
  }
}

bool RoundableDefinitions::contains(ValueId id, std::size_t definition, std::size_t last) const {
  const Node& node = graph_.nodes[definition];
  if (node.outputs[0] != id) return false;
  const auto& uses = uses_[index(id)];
  if (std::ranges::any_of(uses, [&](const Use& use) { return use.node <= last; })) return false;
  return rounded_result(node, graph_, options_) != RoundedResult::never;
}

bool RoundableDefinitions::rounds_uses(ValueId id) const { return uses_[index(id)].empty(); }

bool RoundableDefinitions::reads_uses(ValueId id) const {
  return std::ranges::all_of(uses_[index(id)], &Use::reads);
}

namespace {

// Which nodes round what they compute.
class RoundedNodes {
 public:
  RoundedNodes(const Graph& graph, const Lifetimes& lives, const std::vector<bool>& kept,
               RoundedResult which, const BindOptions& options)
      : graph_(graph),
        lives_(lives),
        kept_(kept),
        which_(which),
        options_(options),
        roundable_(graph, lives, options),
        is_rounded_(graph.values.size()) {}

  std::vector<bool> find() {
    std::vector<bool> rounds(graph_.nodes.size());
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (node.outputs.empty() || node.outputs[0] == no_value) continue;
      const ValueId id = node.outputs[0];
      rounds[i] = is_large(id) && is_read(id, i) && rounds_result(id, i);
      is_rounded_[index(id)] = rounds[i] || graph_[id].type.dtype == DType::bfloat16;
    }
    return rounds;
  }

 private:
  bool is_large(ValueId id) const {
    const Type& type = graph_[id].type;
    return !kept_[index(id)] && type.dtype == DType::float32 && bytes_of(type) >= least_rounded;
  }
  // Whether nodes of the graph read the value, and nothing outside of it does.
  bool is_read(ValueId id, std::size_t definition) const {
    const std::size_t last = lives_.last_use(id);
    return last != definition && last != graph_.nodes.size();
  }
  bool rounds_result(ValueId id, std::size_t definition) const {
    const Node& node = graph_.nodes[definition];
    if (roundable_.contains(id, definition, lives_.last_use(id))) return true;
    if (which_ == RoundedResult::where_rounded || !roundable_.reads_uses(id)) return false;
    const RoundedResult result = rounded_result(node, graph_, options_);
    const bool follows = node.op->rounded.follows && reads_rounded(node);
    return result == RoundedResult::where_read || (follows && result != RoundedResult::never);
  }
  // Whether all that the node can read rounded is.
  bool reads_rounded(const Node& node) const {
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const ValueId id = node.inputs[k];
      if (id == no_value || k >= 32 || (node.op->rounded.reads >> k & 1U) == 0) continue;
      if (!is_rounded_[index(lives_.root(id))]) return false;
    }
    return true;
  }

  const Graph& graph_;
  const Lifetimes& lives_;
  const std::vector<bool>& kept_;
  RoundedResult which_;
  BindOptions options_;
  RoundableDefinitions roundable_;
  std::vector<bool> is_rounded_;  // by value
};

}  // namespace

bool round_results(Graph& graph, std::span<const ValueId> outside, RoundedResult which,
                   const BindOptions& options) {
  if (!conversion_node(no_value, no_value, DType::bfloat16)) return false;
  const std::vector<bool> kept = flags_of(outside, graph);
  order_nodes(graph, kept, {});
  const Lifetimes lives(graph, kept);
  const std::vector<bool> rounds = RoundedNodes(graph, lives, kept, which, options).find();
  if (std::ranges::find(rounds, true) == rounds.end()) return false;

  std::vector<Node> old = std::move(graph.nodes);
  std::vector<Node> nodes;
  RoundedValues rounded(graph, nodes, options);
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (rounded.contains(viewed_input(old[i]))) {
      rounded.add_view(std::move(old[i]));
      continue;
    }
    rounded.rewrite(old[i]);
    if (rounds[i]) {
      const ValueId value = old[i].outputs[0];
      old[i].outputs[0] = rounded.copy_of(value, "_rounded", DType::bfloat16);
      rounded.add(value, old[i].outputs[0]);
    }
    nodes.push_back(std::move(old[i]));
  }
  graph.nodes = std::move(nodes);
  drop_unread_views(graph);
  return true;
}

bool round_constants(Graph& graph, RoundedWeights& weights, const BindOptions& options) {
  constexpr std::size_t least_bytes = std::size_t{16} << 10;  // fewer leave most of a page empty
  const Lifetimes lives(graph, std::vector<bool>(graph.values.size()));
  const RoundableDefinitions roundable(graph, lives, options);
  std::vector<bool> is_read(graph.values.size());
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.all_inputs()) {
      if (id != no_value) is_read[index(id)] = true;
    }
  }
  for (const Node& node : graph.nodes) {
    if (const ValueId viewed = viewed_input(node); viewed != no_value) {
      is_read[index(viewed)] = false;  // under another shape
    }
  }
  for (const ValueId id : graph.outputs) is_read[index(id)] = false;  // in float32
  bool changed = false;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    GraphValue& value = graph.values[i];
    const Tensor& constant = value.constant;
    if (!is_read[i] || !constant.defined() || constant.dtype() != DType::float32) continue;
    if (constant.bytes() < least_bytes || !roundable.rounds_uses(static_cast<ValueId>(i))) continue;
    if (Tensor rounded = weights.of(constant); rounded.defined()) {
      value.constant = std::move(rounded);
      value.type.dtype = DType::bfloat16;
      changed = true;
    }
  }
  return changed;
}

}  // namespace ondine::trainer
