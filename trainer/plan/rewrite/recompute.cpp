#include "trainer/plan/rewrite/recompute.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/contract/aliasing.h"
#include "graph/contract/op_def.h"
#include "graph/passes/rewrite.h"
#include "trainer/plan/inputs.h"
#include "trainer/plan/rewrite/specialize.h"
#include "trainer/plan/schedule/lifetimes.h"
#include "trainer/plan/schedule/order.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

constexpr std::size_t none = Lifetimes::none;

struct Choice {
  ValueId value = no_value;
  std::size_t next_use = none;
  std::uint64_t bytes = 0;  // that become free at the peak
  std::uint64_t traffic = 0;
  double gain = 0;  // bytes, of costly values for each byte of traffic
};

// Whether output 0 can be computed again and that is allowed.
bool is_repeatable(const Node& node, const Graph& graph, bool costly) {
  const OpTraits& traits = node.op->traits;
  if (!(traits.cheap || (costly && !traits.random)) || traits.view) return false;
  return is_static(node, graph);
}

// The node that computes output 0 again, if its operator has one.
std::optional<Node> repeat_of(const Node& node) {
  Node copy = node;
  if (node.op->make_repeatable != nullptr && !node.op->make_repeatable(copy)) return std::nullopt;
  std::fill(copy.outputs.begin() + 1, copy.outputs.end(), no_value);
  return copy;
}

// traffic_of() the repeated node.
std::optional<std::uint64_t> repeated_traffic(const Node& node, const Graph& graph) {
  if (node.op->make_repeatable == nullptr) return traffic_of(node, graph);
  const std::optional<Node> repeat = repeat_of(node);
  if (!repeat) return std::nullopt;
  return traffic_of(*repeat, graph);
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

// All values whose repetition frees memory at the peak, the best first.
std::vector<Choice> candidates(const Graph& graph, const Lifetimes& lives,
                               const std::vector<bool>& outside, std::uint64_t max_traffic,
                               bool costly) {
  const std::size_t peak = lives.peak_position();
  std::vector<Choice> found;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    Choice one;
    one.value = static_cast<ValueId>(i);
    if (outside[i] || lives.made(one.value) == none || lives.made(one.value) >= peak) continue;
    if (lives.is_used_at(one.value, peak)) continue;
    one.next_use = lives.next_use(one.value, peak);
    if (one.next_use == none || one.next_use == graph.nodes.size()) continue;
    const Node& node = graph.nodes[lives.made(one.value)];
    if (node.outputs[0] != one.value || !is_repeatable(node, graph, costly)) continue;
    const std::optional<std::uint64_t> traffic = repeated_traffic(node, graph);
    if (!traffic || *traffic > max_traffic) continue;
    one.traffic = *traffic;
    one.bytes = gain_of(node, graph, lives, one);
    one.gain = static_cast<double>(one.bytes);
    if (costly) one.gain /= static_cast<double>(std::max<std::uint64_t>(one.traffic, 1));
    if (one.gain > 0) found.push_back(one);
  }
  // Among values of equal gain the later comes first: those that it is computed from can then still
  // follow.
  std::sort(found.begin(), found.end(), [](const Choice& a, const Choice& b) {
    return a.gain != b.gain ? a.gain > b.gain : a.value > b.value;
  });
  return found;
}

// How many values are chosen for one analysis of lifetimes. In large graphs several, so that the
// number of analyses does not grow with the graph.
std::size_t batch_of(const Graph& graph) {
  constexpr std::size_t large = 8192, batches = 512;
  return graph.nodes.size() < large ? 1 : graph.nodes.size() / batches;
}

// The best candidates of which none is computed from another, until `excess` bytes are free.
std::vector<Choice> choose(const Graph& graph, const Lifetimes& lives,
                           const std::vector<bool>& outside, const Recomputation& limits,
                           bool costly) {
  std::vector<Choice> chosen;
  std::vector<bool> taken(graph.values.size());
  std::vector<bool> read(graph.values.size());
  const std::size_t most = batch_of(graph);
  std::uint64_t traffic = limits.max_traffic;
  std::uint64_t excess = lives.peak_bytes() - limits.goal;
  for (const Choice& one : candidates(graph, lives, outside, traffic, costly)) {
    const std::vector<ValueId>& inputs = graph.nodes[lives.made(one.value)].inputs;
    const bool apart = std::none_of(inputs.begin(), inputs.end(), [&](ValueId id) {
      return id != no_value && taken[index(lives.root(id))];
    });
    if (!apart || read[index(one.value)] || one.traffic > traffic) continue;
    chosen.push_back(one);
    if (chosen.size() == most || one.bytes >= excess) break;
    excess -= one.bytes;
    traffic -= one.traffic;
    taken[index(one.value)] = true;
    for (const ValueId id : inputs) {
      if (id != no_value) read[index(lives.root(id))] = true;
    }
  }
  return chosen;
}

// Rebuilds the list of nodes: before the node that reads a chosen value next, copies of the node
// that makes it and of its views.
class Repeater {
 public:
  Repeater(Graph& graph, const Lifetimes& lives, const std::vector<Choice>& choices)
      : graph_(graph),
        lives_(lives),
        choices_(choices),
        choice_of_(graph.values.size(), -1),
        renamed_(graph) {
    for (std::size_t c = 0; c < choices.size(); ++c) {
      choice_of_[index(choices[c].value)] = static_cast<int>(c);
      at_.emplace_back(choices[c].next_use, c);
    }
    std::sort(at_.begin(), at_.end());
    views_.resize(choices.size());
  }

  void run() {
    std::vector<Node> old = std::move(graph_.nodes);
    std::vector<Node> nodes;
    nodes.reserve(old.size() + choices_.size());
    std::vector<Node> repeats;
    for (const Choice& choice : choices_) {
      repeats.push_back(*repeat_of(old[lives_.made(choice.value)]));
    }
    auto next = at_.begin();
    for (std::size_t i = 0; i < old.size(); ++i) {
      for (; next != at_.end() && next->first == i; ++next) {
        insert(next->second, repeats[next->second], nodes);
      }
      note_view(old[i], i);
      renamed_.apply(old[i]);
      nodes.push_back(std::move(old[i]));
    }
    graph_.nodes = std::move(nodes);
  }

 private:
  void note_view(const Node& node, std::size_t position) {
    const ValueId viewed = viewed_input(node);
    if (viewed == no_value || index(viewed) >= choice_of_.size()) return;
    const int c = choice_of_[index(viewed)];
    if (c < 0 || position >= choices_[static_cast<std::size_t>(c)].next_use) return;
    choice_of_[index(node.outputs[0])] = c;
    views_[static_cast<std::size_t>(c)].push_back(node);
  }

  ValueId again(ValueId id) {
    const Type type = graph_[id].type;
    const ValueId repeated = graph_.add_temporary(graph_[id].name + "_again", type);
    renamed_.replace(id, repeated);
    return repeated;
  }

  void insert(std::size_t choice, Node& copy, std::vector<Node>& nodes) {
    copy.outputs[0] = again(choices_[choice].value);
    nodes.push_back(std::move(copy));
    for (Node& view : views_[choice]) {
      view.inputs[0] = renamed_[view.inputs[0]];
      view.outputs[0] = again(view.outputs[0]);
      nodes.push_back(std::move(view));
    }
  }

  Graph& graph_;
  const Lifetimes& lives_;
  const std::vector<Choice>& choices_;
  std::vector<std::pair<std::size_t, std::size_t>> at_;  // position and choice, in order
  std::vector<int> choice_of_;                           // by value, for views too
  std::vector<std::vector<Node>> views_;                 // by choice
  Substitution renamed_;
};

}  // namespace

std::uint64_t traffic_of(const Node& node, const Graph& graph) {
  std::uint64_t bytes = 0, written = 0;
  for (const ValueId id : node.inputs) {
    if (id != no_value) bytes += bytes_of(graph[id].type);
  }
  for (const ValueId id : node.outputs) {
    if (id != no_value) written = std::max<std::uint64_t>(written, bytes_of(graph[id].type));
  }
  return bytes + written;
}

bool recompute_values(Graph& graph, std::span<const ValueId> outside,
                      const Recomputation& options) {
  std::vector<bool> flags = flags_of(outside, graph);
  order_nodes(graph, flags, {});
  const std::size_t max_rounds = 4 * graph.nodes.size();
  Recomputation left = options;
  bool changed = false;
  for (std::size_t round = 0; round < max_rounds; ++round) {
    flags.resize(graph.values.size());
    const Lifetimes lives(graph, flags);
    if (lives.peak_bytes() <= options.goal) break;
    std::vector<Choice> choices = choose(graph, lives, flags, left, false);
    if (choices.empty() && options.costly) choices = choose(graph, lives, flags, left, true);
    if (choices.empty()) break;
    for (const Choice& choice : choices) left.max_traffic -= choice.traffic;
    Repeater(graph, lives, choices).run();
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
    for_each_input(node, [&](ValueId id) { read[index(id)] = true; });
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
}

}  // namespace ondine::trainer
