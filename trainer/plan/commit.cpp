#include "trainer/plan/commit.h"

#include "graph/contract/catalogue.h"
#include "graph/contract/op_def.h"
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

}  // namespace

std::vector<bool> choose_commits(const Graph& graph, const std::vector<bool>& targets,
                                 std::span<const InPlace> in_place) {
  const Chooser chosen(graph, targets, in_place);
  std::vector<bool> commits;
  for (const Node& node : graph.nodes) commits.push_back(chosen(node));
  return commits;
}

}  // namespace ondine::trainer
