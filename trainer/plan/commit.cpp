#include "trainer/plan/commit.h"

#include <algorithm>
#include <set>

#include "graph/contract/aliasing.h"
#include "graph/contract/catalogue.h"
#include "graph/contract/op_def.h"
#include "graph/passes/rewrite.h"
#include "trainer/plan/node_lists.h"
#include "trainer/plan/specialize.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

bool is_full_float(const Type& type) {
  return type.dtype == DType::float32 || type.dtype == DType::float64;
}

class Chooser {
 public:
  Chooser(const Graph& graph, const std::vector<bool>& targets, std::span<const InPlace> in_place)
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

  bool operator()(const Node& node) const {
    std::size_t saved = 0;
    for (const ValueId id : node.outputs) {
      if (id == no_value) continue;
      if (!(*targets_)[index(id)] || read_[index(id)]) return false;
      if (!is_full_float((*graph_)[id].type)) return false;
      if (replaces_[index(id)] != no_value &&
          may_overwrite(*graph_, node, {id, replaces_[index(id)]}))
        saved += bytes_of((*graph_)[id].type);
    }
    return saved > 0 && node.op->traits.cannot_fail && is_static(node, *graph_) &&
           waiting_bytes(node) <= saved;
  }

 private:
  std::size_t waiting_bytes(const Node& node) const {
    std::size_t bytes = 0;
    for (const ValueId id : node.inputs) {
      const bool in_arena = id != no_value && produced_[index(id)] && !(*targets_)[index(id)];
      if (in_arena) bytes += bytes_of((*graph_)[id].type);
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
                  const std::vector<bool>& commits)
      : graph_(graph),
        targets_(targets),
        commits_(commits),
        readers_(graph),
        root_(graph.values.size(), no_value),
        is_output_(output_flags(graph)) {
    for (const Node& node : graph.nodes) {
      for (const ValueId id : node.outputs) {
        if (id != no_value && !targets[index(id)]) root_[index(id)] = id;
      }
      const ValueId viewed = viewed_input(node);
      if (viewed != no_value) root_[index(node.outputs[0])] = root_[index(viewed)];
    }
  }

  // Whether the node saves memory there, given what those chosen before hold already.
  bool operator()(const Node& node) {
    if (!node.op->traits.cannot_fail || viewed_input(node) != no_value || !is_static(node, graph_))
      return false;
    std::size_t saved = 0;
    for (const ValueId id : node.outputs) {
      if (id == no_value) continue;
      if (!is_for_commits(id) || !is_full_float(graph_[id].type)) return false;
      saved += bytes_of(graph_[id].type);
    }
    std::set<ValueId> roots;
    std::size_t held = 0;
    for (const ValueId id : node.inputs) {
      if (id == no_value) continue;
      const ValueId root = root_[index(id)];
      if (root == no_value) return false;  // not in the arena
      if (held_.contains(root) || !roots.insert(root).second) continue;
      held += bytes_of(graph_[root].type);
    }
    if (saved < held + least_saved) return false;
    held_.merge(roots);
    return true;
  }

 private:
  bool is_for_commits(ValueId id) const {
    if (targets_[index(id)] || is_output_[index(id)]) return false;
    const auto readers = readers_.of(id);
    return !readers.empty() &&
           std::ranges::all_of(readers, [&](std::size_t reader) { return commits_[reader]; });
  }

  const Graph& graph_;
  const std::vector<bool>& targets_;
  const std::vector<bool>& commits_;
  Readers readers_;
  std::vector<ValueId> root_;  // by value: what it is a view of, no_value outside of the arena
  std::vector<bool> is_output_;
  std::set<ValueId> held_;
};

}  // namespace

std::vector<bool> choose_commits(const Graph& graph, const std::vector<bool>& targets,
                                 std::span<const InPlace> in_place) {
  const Chooser chosen(graph, targets, in_place);
  std::vector<bool> commits;
  for (const Node& node : graph.nodes) commits.push_back(chosen(node));
  GradientChooser saves(graph, targets, commits);
  std::vector<bool> gradients;
  for (const Node& node : graph.nodes) gradients.push_back(saves(node));
  for (std::size_t i = 0; i < commits.size(); ++i) commits[i] = commits[i] || gradients[i];
  return commits;
}

}  // namespace ondine::trainer
