#include "trainer/plan/compact.h"

#include <algorithm>
#include <vector>

#include "graph/contract/aliasing.h"
#include "graph/passes/rewrite.h"
#include "trainer/conversion_node.h"
#include "trainer/plan/lifetimes.h"
#include "trainer/plan/order.h"
#include "trainer/plan/recompute.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

constexpr std::size_t least_bytes = std::size_t{64} << 10;  // of a value: fewer do not pay
constexpr int max_rounds = 8;

std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

// A value that waits from one node to another.
struct Wait {
  ValueId value = no_value;
  std::size_t first = 0;  // the last node before that reads or makes it
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

// Those that wait at the peak.
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

// Rebuilds the list of nodes with the Casts of all waits.
class Rewriter {
 public:
  Rewriter(Graph& graph, const Lifetimes& lives, std::vector<Wait> waits)
      : graph_(graph),
        lives_(lives),
        waits_(std::move(waits)),
        wait_of_(graph.values.size(), -1),
        renamed_(graph) {
    starts_.resize(graph.nodes.size());
    ends_.resize(graph.nodes.size());
    for (std::size_t w = 0; w < waits_.size(); ++w) {
      wait_of_[index(waits_[w].value)] = static_cast<int>(w);
      starts_[waits_[w].first].push_back(w);
      ends_[waits_[w].last].push_back(w);
    }
    views_.resize(waits_.size());
  }

  void run() {
    std::vector<Node> old = std::move(graph_.nodes);
    for (std::size_t i = 0; i < old.size(); ++i) {
      for (const std::size_t w : ends_[i]) widen(waits_[w], views_[w]);
      note_view(old[i]);
      renamed_.apply(old[i]);
      nodes_.push_back(std::move(old[i]));
      for (const std::size_t w : starts_[i]) round(waits_[w]);
    }
    graph_.nodes = std::move(nodes_);
  }

 private:
  // Views of a waiting value are made again of what is widened.
  void note_view(const Node& node) {
    const ValueId viewed = viewed_input(node);
    if (viewed == no_value || index(viewed) >= wait_of_.size()) return;
    const int wait = wait_of_[index(lives_.root(viewed))];
    if (wait >= 0) views_[static_cast<std::size_t>(wait)].push_back(node);
  }

  ValueId copy_of(ValueId id, const char* suffix) {
    return copy_of(id, suffix, graph_[id].type.dtype);
  }
  ValueId copy_of(ValueId id, const char* suffix, DType dtype) {
    Type type = graph_[id].type;
    type.dtype = dtype;
    return graph_.add_temporary(graph_[id].name + suffix, std::move(type));
  }

  void round(Wait& wait) {
    wait.rounded = copy_of(wait.value, "_rounded", DType::bfloat16);
    nodes_.push_back(*conversion_node(wait.value, wait.rounded, DType::bfloat16));
  }

  void widen(const Wait& wait, const std::vector<Node>& views) {
    const ValueId wide = copy_of(wait.value, "_widened");
    nodes_.push_back(*conversion_node(wait.rounded, wide, DType::float32));
    renamed_.replace(wait.value, wide);
    for (const Node& view : views) {
      Node copy = view;
      renamed_.apply(copy);
      copy.outputs[0] = copy_of(view.outputs[0], "_widened");
      renamed_.replace(view.outputs[0], copy.outputs[0]);
      nodes_.push_back(std::move(copy));
    }
  }

  Graph& graph_;
  const Lifetimes& lives_;
  std::vector<Wait> waits_;
  std::vector<int> wait_of_;                      // by value
  std::vector<std::vector<std::size_t>> starts_;  // waits by node
  std::vector<std::vector<std::size_t>> ends_;
  std::vector<std::vector<Node>> views_;  // by wait
  Substitution renamed_;
  std::vector<Node> nodes_;
};

// A flag for each value of the graph.
std::vector<bool> flags_of(std::span<const ValueId> ids, const Graph& graph) {
  std::vector<bool> flags(graph.values.size());
  for (const ValueId id : ids) flags[index(id)] = true;
  return flags;
}

}  // namespace

bool compact_values(Graph& graph, std::span<const ValueId> outside) {
  if (!conversion_node(no_value, no_value, DType::bfloat16)) return false;
  order_nodes(graph, flags_of(outside, graph), {});
  bool changed = false;
  for (int round = 0; round < max_rounds; ++round) {
    const std::vector<bool> flags = flags_of(outside, graph);
    const Lifetimes lives(graph, flags);
    std::vector<Wait> waits = find_waits(graph, lives, flags);
    if (waits.empty()) break;
    Rewriter(graph, lives, std::move(waits)).run();
    drop_unread_views(graph);
    changed = true;
  }
  return changed;
}

}  // namespace ondine::trainer
