#include "trainer/plan/roundable.h"

#include <algorithm>
#include <utility>

#include "graph/contract/aliasing.h"
#include "trainer/conversion_node.h"
#include "trainer/plan/order.h"
#include "trainer/plan/recompute.h"
#include "trainer/plan/rounded_values.h"
#include "trainer/plan/specialize.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

constexpr std::size_t least_rounded = std::size_t{64} << 10;  // of a value: fewer stay in a cache

std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

}  // namespace

RoundableDefinitions::RoundableDefinitions(const Graph& graph, const Lifetimes& lives,
                                           const BindOptions& options)
    : graph_(graph), uses_(graph.values.size()) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const std::uint32_t rounded = rounded_inputs(node, graph, options).rounded;
    for (std::size_t k = 0; k < node.all_inputs().size(); ++k) {
      const ValueId id = node.all_inputs()[k];
      if (id == no_value || (k == 0 && viewed_input(node) == id)) continue;
      if (k >= 32 || (rounded >> k & 1U) == 0) uses_[index(lives.root(id))].push_back(i);
    }
  }
}

bool RoundableDefinitions::contains(ValueId id, std::size_t definition, std::size_t last) const {
  const Node& node = graph_.nodes[definition];
  if (!node.op->rounded.writes || node.outputs[0] != id || !is_static(node, graph_)) return false;
  return std::none_of(uses_[index(id)].begin(), uses_[index(id)].end(),
                      [&](std::size_t use) { return use <= last; });
}

bool round_results(Graph& graph, std::span<const ValueId> outside, const BindOptions& options) {
  if (!conversion_node(no_value, no_value, DType::bfloat16)) return false;
  const std::vector<bool> kept = flags_of(outside, graph);
  order_nodes(graph, kept, {});
  const Lifetimes lives(graph, kept);
  const RoundableDefinitions roundable(graph, lives, options);
  const auto is_roundable = [&](ValueId id, std::size_t definition) {
    const Type& type = graph[id].type;
    const std::size_t last = lives.last_use(id);
    return !kept[index(id)] && type.dtype == DType::float32 && bytes_of(type) >= least_rounded &&
           last != definition && last != graph.nodes.size() &&
           roundable.contains(id, definition, last);
  };
  std::vector<bool> rounds(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::vector<ValueId>& outputs = graph.nodes[i].outputs;
    rounds[i] = !outputs.empty() && outputs[0] != no_value && is_roundable(outputs[0], i);
  }
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

}  // namespace ondine::trainer
