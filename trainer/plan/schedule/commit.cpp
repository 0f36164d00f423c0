#include "trainer/plan/schedule/commit.h"

#include <algorithm>
#include <set>

#include "graph/contract/aliasing.h"
#include "graph/contract/catalogue.h"
#include "graph/contract/op_def.h"
#include "graph/passes/rewrite.h"
#include "trainer/plan/rewrite/specialize.h"
#include "trainer/plan/schedule/node_lists.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

bool is_full_float(const Type& type) {
  return type.dtype == DType::float32 || type.dtype == DType::float64;
}

class CommitChooser {
 public:
  CommitChooser(const Graph& graph, const std::vector<bool>& targets,
                std::span<const InPlace> in_place)
      : graph_(&graph),
        targets_(&targets),
        produced_(graph.values.size()),
        read_(graph.values.size()),
        replaces_(graph.values.size(), no_value) {
    for (const Node& node : graph.nodes) {
      for (const ValueId id : node.outputs) {
        if (id != no_value) produced_[index(id)] = true;
      }
      for (const ValueId id : node.all_inputs()) {
        if (id != no_value) read_[index(id)] = true;
      }
    }
    for (const InPlace& pair : in_place) {
      if (pair.value != no_value) replaces_[index(pair.value)] = pair.input;
    }
  }

  // Whether the node is an update that may wait for the commit section.
  bool is_update(const Node& node) const {
    return std::ranges::all_of(node.outputs,
                               [&](ValueId id) {
                                 return id == no_value ||
                                        ((*targets_)[index(id)] && !read_[index(id)] &&
                                         is_full_float((*graph_)[id].type));
                               }) &&
           cannot_fail(node, *graph_) && saved_bytes(node) > 0;
  }

  // Whether its inputs take no more memory while they wait than writing in place saves.
  bool saves_memory(const Node& node) const {
    std::size_t waiting = 0;
    for (const ValueId id : node.inputs) {
      if (in_arena(id)) waiting += bytes_of((*graph_)[id].type);
    }
    return waiting <= saved_bytes(node);
  }

  bool in_arena(ValueId id) const {
    return id != no_value && produced_[index(id)] && !(*targets_)[index(id)];
  }

 private:
  std::size_t saved_bytes(const Node& node) const {
    std::size_t bytes = 0;
    for (const ValueId id : node.outputs) {
      if (id == no_value || replaces_[index(id)] == no_value) continue;
      if (may_overwrite(*graph_, node, {id, replaces_[index(id)]}))
        bytes += bytes_of((*graph_)[id].type);
    }
    return bytes;
  }

  const Graph* graph_;
  const std::vector<bool>* targets_;
  std::vector<bool> produced_;     // by value: by a node
  std::vector<bool> read_;         // by value: by a node
  std::vector<ValueId> replaces_;  // by value: the input whose memory it may take
};

// A gradient is computed in the commit section if that saves so many bytes: readers wait for it.
constexpr std::size_t least_saved = std::size_t{1} << 20;

class GradientChooser {
 public:
  GradientChooser(const Graph& graph, const std::vector<bool>& targets,
                  std::span<const InPlace> in_place, const std::vector<bool>& updates)
      : graph_(graph),
        targets_(targets),
        updates_(updates),
        commits_(updates),
        readers_(graph),
        producer_(graph.values.size(), none),
        root_(graph.values.size(), no_value),
        is_output_(output_flags(graph)),
        is_fixed_(graph.values.size()) {
    for (std::size_t i = 0; i < graph.values.size(); ++i) {
      is_fixed_[i] = graph.values[i].constant->defined();
    }
    for (const ValueId id : graph.inputs) is_fixed_[index(id)] = true;
    for (const InPlace& pair : in_place) {
      if (pair.input != no_value) is_fixed_[index(pair.input)] = false;
    }
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      for (const ValueId id : node.outputs) {
        if (id == no_value) continue;
        producer_[index(id)] = i;
        if (!targets[index(id)]) root_[index(id)] = id;
      }
      const ValueId viewed = viewed_input(node);
      if (viewed == no_value) continue;
      root_[index(node.outputs[0])] = root_[index(viewed)];
      is_fixed_[index(node.outputs[0])] = is_fixed_[index(viewed)];
    }
  }

  // Chooses the node, with those whose results it only adds to, if that saves memory given what
  // those chosen before hold already.
  void consider(std::size_t last) {
    std::vector<std::size_t> chain;
    std::set<ValueId> roots;
    for (std::size_t next = last; next != none;) {
      const std::size_t node = next;
      if (!is_for_commits(graph_.nodes[node], chain.empty())) return;
      chain.push_back(node);
      next = none;
      for (const ValueId id : graph_.nodes[node].inputs) {
        if (id == no_value || is_fixed_[index(id)]) continue;
        ValueId root = root_[index(id)];
        if (root == no_value) {
          if (producer_[index(id)] != none) return;  // not in the arena
          // A variable that another update overwrites: that one waits, with its gradient.
          root = id;
        }
        if (next == none && is_base(graph_.nodes[node], id)) {
          next = producer_[index(id)];
        } else if (!held_.contains(root)) {
          roots.insert(root);
        }
      }
    }
    std::size_t held = 0;
    for (const ValueId root : roots) held += bytes_of(graph_[root].type);
    if (result_bytes(graph_.nodes[last]) < held + least_saved) return;
    held_.merge(roots);
    for (const std::size_t node : chain) commits_[node] = true;
  }

  // One flag per node: the updates and what was chosen.
  std::vector<bool> take_commits() { return std::move(commits_); }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  std::size_t result_bytes(const Node& node) const {
    std::size_t bytes = 0;
    for (const ValueId id : node.outputs) {
      if (id != no_value) bytes += bytes_of(graph_[id].type);
    }
    return bytes;
  }

  // `by_updates`: whether only updates may read its results.
  bool is_for_commits(const Node& node, bool by_updates) const {
    if (!cannot_fail(node, graph_) || viewed_input(node) != no_value) return false;
    return std::ranges::all_of(node.outputs, [&](ValueId id) {
      if (id == no_value) return true;
      if (targets_[index(id)] || is_output_[index(id)] || !is_full_float(graph_[id].type))
        return false;
      const auto readers = readers_.of(id);
      return !by_updates ||
             (!readers.empty() &&
              std::ranges::all_of(readers, [&](std::size_t reader) { return updates_[reader]; }));
    });
  }

  // Whether the node writes its result over this input, which only it reads.
  bool is_base(const Node& node, ValueId id) const {
    const std::size_t producer = producer_[index(id)];
    if (producer == none || is_output_[index(id)] || readers_.of(id).size() != 1) return false;
    if (std::ranges::count_if(graph_.nodes[producer].outputs,
                              [](ValueId output) { return output != no_value; }) != 1)
      return false;
    return may_overwrite(graph_, node, {node.outputs[0], id}) &&
           is_for_commits(graph_.nodes[producer], false);
  }

  const Graph& graph_;
  const std::vector<bool>& targets_;
  const std::vector<bool>& updates_;  // by node
  std::vector<bool> commits_;         // by node
  Readers readers_;
  std::vector<std::size_t> producer_;  // by value
  std::vector<ValueId> root_;  // by value: what it is a view of, no_value outside of the arena
  std::vector<bool> is_output_;
  std::vector<bool> is_fixed_;  // by value: outside of the arena, where no update writes
  std::set<ValueId> held_;
};

// One flag per node: whether nothing that can fail and no result of the call needs it. `updates`
// are those of the nodes that may wait.
std::vector<bool> find_late(const Graph& graph, const std::vector<bool>& targets,
                            const std::vector<bool>& updates) {
  std::vector<bool> early_value = output_flags(graph);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i]) early_value[i] = false;
  }
  std::vector<bool> late(graph.nodes.size());
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    late[i] =
        cannot_fail(node, graph) && std::ranges::all_of(node.outputs, [&](ValueId id) {
          return id == no_value || (!early_value[index(id)] && (!targets[index(id)] || updates[i]));
        });
    if (late[i]) continue;
    for (const ValueId id : node.all_inputs()) {
      if (id != no_value) early_value[index(id)] = true;
    }
  }
  return late;
}

std::vector<bool> choose_all(const Graph& graph, const std::vector<bool>& targets,
                             const CommitChooser& chooser) {
  std::vector<bool> updates;
  for (const Node& node : graph.nodes) updates.push_back(chooser.is_update(node));
  for (;;) {
    std::vector<bool> late = find_late(graph, targets, updates);
    std::vector<bool> late_value(graph.values.size());
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const ValueId id : graph.nodes[i].outputs) {
        if (id != no_value) late_value[index(id)] = late[i];
      }
    }
    bool same = true;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      const auto comes_late = [&](ValueId id) {
        return chooser.in_arena(id) && late_value[index(id)];
      };
      if (!updates[i] || std::ranges::any_of(node.inputs, comes_late)) continue;
      if (chooser.saves_memory(node)) continue;
      updates[i] = same = false;
    }
    if (same) return late;
  }
}

}  // namespace

bool cannot_fail(const Node& node, const Graph& graph) {
  if (!is_static(node, graph)) return false;
  if (!node.op->traits.cannot_fail) {
    // A view is a shape, which the kernel knows if it need not read it.
    const auto is_known = [&](ValueId id) {
      return id == no_value || graph[id].constant->defined();
    };
    const auto others =
        std::span(node.inputs).subspan(std::min<std::size_t>(node.inputs.size(), 1));
    if (!node.op->traits.view || !std::ranges::all_of(others, is_known)) return false;
  }
  return std::ranges::all_of(
      node.outputs, [&](ValueId id) { return id == no_value || is_float(graph[id].type.dtype); });
}

std::vector<bool> choose_commits(const Graph& graph, const std::vector<bool>& targets,
                                 std::span<const InPlace> in_place, CommitScope scope) {
  if (scope == CommitScope::none) return std::vector<bool>(graph.nodes.size());
  const CommitChooser chooser(graph, targets, in_place);
  if (scope == CommitScope::all) return choose_all(graph, targets, chooser);
  std::vector<bool> commits;
  for (const Node& node : graph.nodes) {
    commits.push_back(chooser.is_update(node) && chooser.saves_memory(node));
  }
  GradientChooser gradients(graph, targets, in_place, commits);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) gradients.consider(i);
  return gradients.take_commits();
}

}  // namespace ondine::trainer
