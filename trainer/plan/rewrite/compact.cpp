#include "trainer/plan/rewrite/compact.h"

#include <algorithm>
#include <vector>

#include "graph/contract/aliasing.h"
#include "trainer/model/conversion_node.h"
#include "trainer/plan/rewrite/recompute.h"
#include "trainer/plan/rewrite/roundable.h"
#include "trainer/plan/rewrite/rounded_values.h"
#include "trainer/plan/schedule/lifetimes.h"
#include "trainer/plan/schedule/order.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

constexpr std::size_t least_bytes = std::size_t{64} << 10;  // of a value: fewer do not pay
constexpr int max_rounds = 8;

// A value that waits from one node to another.
struct Wait {
  ValueId value = no_value;
  std::size_t first = 0;  // the last node before that defines or reads it
  std::size_t last = 0;   // the next one that reads it
  ValueId rounded = no_value;
};

// Whether the node updates a variable of the value's shape: then that is a gradient.
bool updates_by(const Node& node, ValueId value, const Graph& graph,
                const std::vector<bool>& outside) {
  return std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
    return id != no_value && outside[index(id)] &&
           graph[id].type.shape() == graph[value].type.shape();
  });
}

// Values that wait at the peak.
std::vector<Wait> find_waits(const Graph& graph, const Lifetimes& lives,
                             const std::vector<bool>& outside) {
  const std::size_t peak = lives.peak_position();
  std::vector<Wait> waits;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    Wait wait;
    wait.value = static_cast<ValueId>(i);
    const Type& type = graph.values[i].type;
    if (outside[i] || lives.made(wait.value) == Lifetimes::none) continue;
    if (lives.made(wait.value) >= peak || lives.is_used_at(wait.value, peak)) continue;
    if (type.dtype != DType::float32 || bytes_of(type) < least_bytes) continue;
    // Outputs of the graph are not rounded.
    if (lives.last_use(wait.value) == graph.nodes.size()) continue;
    wait.first = lives.previous_use(wait.value, peak);
    wait.last = lives.next_use(wait.value, peak);
    if (wait.last == Lifetimes::none) continue;
    if (!updates_by(graph.nodes[wait.last], wait.value, graph, outside)) waits.push_back(wait);
  }
  return waits;
}

// Rebuilds the list of nodes with what is read of waiting values.
class Rewriter {
 public:
  Rewriter(Graph& graph, const Lifetimes& lives, std::vector<Wait> waits,
           const BindOptions& options)
      : graph_(graph),
        lives_(lives),
        waits_(std::move(waits)),
        wait_of_(graph.values.size(), -1),
        rounded_(graph, nodes_, options) {
    definitions_.resize(graph.nodes.size());
    starts_.resize(graph.nodes.size());
    ends_.resize(graph.nodes.size());
    const RoundableDefinitions roundable(graph, lives, options);
    for (std::size_t w = 0; w < waits_.size(); ++w) {
      const Wait& wait = waits_[w];
      const std::size_t definition = lives.made(wait.value);
      if (roundable.contains(wait.value, definition, wait.first)) {
        definitions_[definition].push_back(w);
        continue;
      }
      wait_of_[index(wait.value)] = static_cast<int>(w);
      starts_[copying_node(wait, definition)].push_back(w);
      ends_[wait.last].push_back(w);
    }
    views_.resize(waits_.size());
  }

  void run() {
    std::vector<Node> old = std::move(graph_.nodes);
    for (std::size_t i = 0; i < old.size(); ++i) {
      for (const std::size_t w : ends_[i]) end(w);
      if (rounded_.contains(viewed_input(old[i]))) {
        rounded_.add_view(std::move(old[i]));
        continue;
      }
      note_view(old[i]);
      rounded_.rewrite(old[i]);
      for (const std::size_t w : definitions_[i]) define_rounded(waits_[w], old[i]);
      nodes_.push_back(std::move(old[i]));
      for (const std::size_t w : starts_[i]) round(waits_[w]);
    }
    graph_.nodes = std::move(nodes_);
  }

 private:
  // Views of a waiting value are made again of what is stored.
  void note_view(const Node& node) {
    const ValueId viewed = viewed_input(node);
    if (viewed == no_value || index(viewed) >= wait_of_.size()) return;
    const int wait = wait_of_[index(lives_.root(viewed))];
    if (wait >= 0) views_[static_cast<std::size_t>(wait)].push_back(node);
  }

  // The first node that writes the rounded value while it reads it, or else the last before the
  // wait.
  std::size_t copying_node(const Wait& wait, std::size_t definition) const {
    for (auto at = definition; at < wait.first; at = lives_.next_use(wait.value, at)) {
      if (at > definition && can_copy(graph_.nodes[at], wait.value)) return at;
    }
    return wait.first;
  }
  static bool can_copy(const Node& node, ValueId value) {
    const std::size_t copy = node.op->rounded.copy;
    return copy > 0 && node.inputs[0] == value && node.outputs.size() <= copy;
  }

  void define_rounded(const Wait& wait, Node& node) {
    node.outputs[0] = rounded_.copy_of(wait.value, "_rounded", DType::bfloat16);
    rounded_.add(wait.value, node.outputs[0]);
  }

  void round(Wait& wait) {
    wait.rounded = rounded_.copy_of(wait.value, "_rounded", DType::bfloat16);
    Node& last = nodes_.back();
    if (can_copy(last, wait.value)) {
      last.outputs.resize(last.op->rounded.copy, no_value);
      last.outputs.push_back(wait.rounded);
      return;
    }
    nodes_.push_back(*conversion_node(wait.value, wait.rounded, DType::bfloat16));
  }

  void end(std::size_t w) {
    rounded_.add(waits_[w].value, waits_[w].rounded);
    for (Node& view : views_[w]) rounded_.add_view(std::move(view));
  }

  Graph& graph_;
  const Lifetimes& lives_;
  std::vector<Wait> waits_;
  std::vector<int> wait_of_;  // by value
  // Waits by node: those of a value that the node defines as bfloat16, those that start after it
  // and those that end before it.
  std::vector<std::vector<std::size_t>> definitions_;
  std::vector<std::vector<std::size_t>> starts_;
  std::vector<std::vector<std::size_t>> ends_;
  std::vector<std::vector<Node>> views_;  // by wait
  std::vector<Node> nodes_;
  RoundedValues rounded_;
};

}  // namespace

bool compact_values(Graph& graph, std::span<const ValueId> outside, const BindOptions& options) {
  if (!conversion_node(no_value, no_value, DType::bfloat16)) return false;
  order_nodes(graph, flags_of(outside, graph), {});
  bool changed = false;
  for (int round = 0; round < max_rounds; ++round) {
    const std::vector<bool> flags = flags_of(outside, graph);
    const Lifetimes lives(graph, flags);
    std::vector<Wait> waits = find_waits(graph, lives, flags);
    if (waits.empty()) break;
    Rewriter(graph, lives, std::move(waits), options).run();
    drop_unread_views(graph);
    changed = true;
  }
  return changed;
}

}  // namespace ondine::trainer
