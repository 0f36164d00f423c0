#include "trainer/plan/recompute.h"

#include <algorithm>
#include <optional>

#include "graph/contract/aliasing.h"
#include "graph/contract/op_def.h"
#include "trainer/plan/lifetimes.h"
#include "trainer/plan/order.h"
#include "trainer/plan/specialize.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

constexpr std::size_t none = Lifetimes::none;

std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

struct Choice {
  ValueId value = no_value;
  std::size_t next_use = none;
  double gain = 0;  // bytes, of costly values for each byte of traffic
  Node repeat;      // computes the value again
};

// The node that computes output 0 again, if that is possible and allowed.
std::optional<Node> repeat_of(const Node& node, const Graph& graph, bool costly) {
  const OpTraits& traits = node.op->traits;
  if (!(traits.cheap || (costly && !traits.random)) || traits.view) return std::nullopt;
  if (!is_static(node, graph)) return std::nullopt;
  Node copy = node;
  if (node.op->make_repeatable != nullptr && !node.op->make_repeatable(copy)) return std::nullopt;
  std::fill(copy.outputs.begin() + 1, copy.outputs.end(), no_value);
  return copy;
}

// Bytes that are free at the peak when the value is computed again later: what its operator reads
// must then be there.
std::uint64_t gain_of(const Node& node, const Graph& graph, const Lifetimes& lives,
                      const Choice& choice) {
  const std::uint64_t freed = bytes_of(graph[choice.value].type);
  std::uint64_t held = 0;
  for (const ValueId id : node.inputs) {
    if (id == no_value) continue;
    const ValueId root = lives.root(id);
    if (lives.alive(root, choice.next_use)) continue;
    if (lives.last_use(root) <= lives.peak_position()) held += bytes_of(graph[root].type);
  }
  return freed > held ? freed - held : 0;
}

Choice choose(const Graph& graph, const Lifetimes& lives, const std::vector<bool>& outside,
              std::uint64_t max_traffic, bool costly) {
  const std::size_t peak = lives.peak_position();
  Choice best;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    Choice one;
    one.value = static_cast<ValueId>(i);
    if (outside[i] || lives.made(one.value) == none || lives.made(one.value) >= peak) continue;
    if (lives.is_used_at(one.value, peak)) continue;
    one.next_use = lives.next_use(one.value, peak);
    if (one.next_use == none || one.next_use == graph.nodes.size()) continue;
    const Node& node = graph.nodes[lives.made(one.value)];
    if (node.outputs[0] != one.value) continue;
    std::optional<Node> repeat = repeat_of(node, graph, costly);
    if (!repeat) continue;
    const std::uint64_t traffic = traffic_of(*repeat, graph);
    if (traffic > max_traffic) continue;
    one.gain = static_cast<double>(gain_of(node, graph, lives, one));
    if (costly) one.gain /= static_cast<double>(std::max<std::uint64_t>(traffic, 1));
    // Of equal ones the later: what it is computed from is then still there to follow.
    if (one.gain > 0 && one.gain >= best.gain) {
      one.repeat = std::move(*repeat);
      best = std::move(one);
    }
  }
  return best;
}

// A copy of the node that makes the value, with views of it, before the node that reads it next.
void repeat(Graph& graph, const Lifetimes& lives, const Choice& choice) {
  Node copy = choice.repeat;
  const Type type = graph[choice.value].type;
  copy.outputs[0] = graph.add_temporary(graph[choice.value].name + "_again", type);
  std::vector<Node> added{copy};
  std::vector<std::pair<ValueId, ValueId>> renamed{{choice.value, copy.outputs[0]}};
  for (std::size_t i = lives.made(choice.value) + 1; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const bool later = i >= choice.next_use;
    const ValueId viewed = viewed_input(node);
    if (viewed == no_value || later) continue;
    const auto source = std::find_if(renamed.begin(), renamed.end(),
                                     [&](const auto& pair) { return pair.first == viewed; });
    if (source == renamed.end()) continue;
    Node view = node;
    view.inputs[0] = source->second;
    view.outputs[0] =
        graph.add_temporary(graph[node.outputs[0]].name + "_again", graph[node.outputs[0]].type);
    renamed.emplace_back(node.outputs[0], view.outputs[0]);
    added.push_back(std::move(view));
  }
  for (std::size_t i = choice.next_use; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    const auto rename = [&](std::vector<ValueId>& ids) {
      for (ValueId& id : ids) {
        for (const auto& [from, to] : renamed) {
          if (id == from) id = to;
        }
      }
    };
    rename(node.inputs);
    for (Subgraph& body : node.subgraphs) rename(body.captures);
  }
  graph.nodes.insert(graph.nodes.begin() + static_cast<std::ptrdiff_t>(choice.next_use),
                     std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()));
}

}  // namespace

std::uint64_t traffic_of(const Node& node, const Graph& graph) {
  std::uint64_t bytes = 0;
  for (const ValueId id : node.inputs) {
    if (id != no_value) bytes += bytes_of(graph[id].type);
  }
  if (!node.outputs.empty() && node.outputs[0] != no_value) {
    bytes += bytes_of(graph[node.outputs[0]].type);
  }
  return bytes;
}

bool recompute_values(Graph& graph, std::span<const ValueId> outside,
                      const Recomputation& options) {
  std::vector<bool> flags(graph.values.size());
  for (const ValueId id : outside) flags[index(id)] = true;
  order_nodes(graph, flags, {});
  const std::size_t max_rounds = 4 * graph.nodes.size();
  std::uint64_t traffic = options.max_traffic;
  bool changed = false;
  for (std::size_t round = 0; round < max_rounds; ++round) {
    flags.resize(graph.values.size());
    const Lifetimes lives(graph, flags);
    if (lives.peak_bytes() <= options.goal) break;
    Choice choice = choose(graph, lives, flags, traffic, false);
    if (choice.value == no_value && options.costly) {
      choice = choose(graph, lives, flags, traffic, true);
    }
    if (choice.value == no_value) break;
    traffic -= traffic_of(choice.repeat, graph);
    repeat(graph, lives, choice);
    changed = true;
  }
  drop_unread_views(graph);
  return changed;
}

void drop_unread_views(Graph& graph) {
  std::vector<bool> read(graph.values.size());
  for (const ValueId id : graph.outputs) read[index(id)] = true;
  std::vector<Node> kept;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    Node& node = graph.nodes[i];
    const ValueId first = node.outputs.empty() ? no_value : node.outputs[0];
    if (node.op->traits.view && first != no_value && !read[index(first)]) continue;
    for (const ValueId id : node.all_inputs()) {
      if (id != no_value) read[index(id)] = true;
    }
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
}

}  // namespace ondine::trainer
